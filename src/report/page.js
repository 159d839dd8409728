"use strict";
// Tables that sort, filter and download; without it the page shows the same.
(() => {
  const raised = "⁰¹²³⁴⁵⁶⁷⁸⁹";
  const lowered = (digits) => [...digits].map((it) => (it === "⁻" ? "-" : raised.indexOf(it))).join("");
  // Typeset numbers as programs read them: `−1.2×10⁻⁵` is `-1.2e-5`.
  const plain = (text) =>
    text
      .replace(/−/g, "-")
      .replace(/\u202f/g, "")
      .replace(/(×?)10([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)/g, (_, times, up) => (times ? "e" : "1e") + lowered(up));
  // The number that a cell begins with: what stands in brackets behind it is its interval.
  const number = (cell) => {
    const text = plain(cell.textContent.replace(/\[.*\]/, "")).replace(/[\s%]/g, "");
    return text === "" ? NaN : Number(text);
  };
  const button = (text, label, act) => {
    const made = document.createElement("button");
    made.type = "button";
    made.textContent = text;
    if (label) made.setAttribute("aria-label", label);
    made.addEventListener("click", act);
    return made;
  };
  const quoted = (cell) => {
    const text = cell.textContent.trim();
    if (cell.matches("td.number")) return '"' + (text === "–" ? "" : plain(text)) + '"';
    // A spreadsheet would take such a name for a formula.
    const safe = /^[=+@\t-]/.test(text) && text !== "-" && Number.isNaN(Number(text)) ? "'" + text : text;
    return '"' + safe.replace(/"/g, '""') + '"';
  };
  document.querySelectorAll("table").forEach((table, place) => {
    const body = table.tBodies[0];
    const heads = [...table.tHead.rows[0].cells];
    const rows = [...body.rows];
    if (!(rows.length > 1)) return;
    heads.forEach((head, column) => {
      const isNumber = head.classList.contains("number");
      const act = () => {
        const down = head.getAttribute("aria-sort") === "ascending";
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const key = (row) => (isNumber ? number(row.cells[column]) : row.cells[column].textContent);
        const compare = (a, b) => {
          const [x, y] = [key(a), key(b)];
          if (!isNumber) return x.localeCompare(y, undefined, { numeric: true });
          // What has no number comes last, whichever way.
          if (Number.isNaN(x) || Number.isNaN(y)) return (Number.isNaN(x) - Number.isNaN(y)) * (down ? -1 : 1);
          return x - y;
        };
        body.append(...rows.slice().sort((a, b) => compare(a, b) * (down ? -1 : 1)));
      };
      const text = head.textContent;
      head.replaceChildren(button(text, "", act));
    });
    const tools = document.createElement("div");
    tools.className = "tools";
    if (rows.length > 5) {
      const filter = document.createElement("input");
      filter.type = "search";
      filter.placeholder = "Filter rows";
      filter.setAttribute("aria-label", "Filter rows");
      const shown = document.createElement("span");
      shown.setAttribute("role", "status");
      filter.addEventListener("input", () => {
        const wanted = filter.value.toLowerCase();
        let count = 0;
        rows.forEach((row) => {
          row.hidden = !row.textContent.toLowerCase().includes(wanted);
          count += row.hidden ? 0 : 1;
        });
        shown.textContent = wanted ? count + " of " + rows.length : "";
      });
      tools.append(filter, shown);
    }
    tools.append(
      button("CSV", "Download the rows that are shown as CSV", () => {
        const lines = [heads, ...[...body.rows].filter((row) => !row.hidden).map((row) => [...row.cells])];
        const text = lines.map((cells) => cells.map(quoted).join(",")).join("\r\n") + "\r\n";
        const link = document.createElement("a");
        link.href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
        link.download = "table-" + (place + 1) + ".csv";
        link.click();
        URL.revokeObjectURL(link.href);
      }),
    );
    table.parentElement.before(tools);
  });
})();
