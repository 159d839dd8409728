//! Inputs: channels that drive the system, and those that events make.

use paramill::schema::Between;

use super::*;

/// One tank whose level is read every second, and its valve now and then.
const VALVE: &str = "\
tank,t,what,value
a,0,level,1
a,1,level,2
a,2,level,4
a,3,level,5
a,-1,valve,10
a,0.5,valve,40
a,2,valve,70
a,3.5,valve,100
";

/// Doses among the readings of two people.
const DOSES: &str = "\
id,t,level,amount,EVID
a,0,1,.,0
a,1,.,300,1
a,1,2,.,0
a,2,.,100,1
a,2.5,5,.,0
a,4,6,.,0
b,0,.,200,1
b,0,1,.,0
b,2,3,.,0
b,3,4,.,0
";

fn archive(table: &str, settings: &str) -> Archive {
    let settings = format!("dataset = 'tanks'\ndirectory = 'archive'\ntime_unit = 's'\n{settings}");
    Archive::new().with("tanks.csv", table).change(|all| *all = toml::from_str(&settings).unwrap())
}

fn valve(between: &str, table: &str) -> Archive {
    let settings = format!(
        "table = {{ file = 'tanks.csv', environment = 'tank', time = 't', layout = 'long', channel = 'what', value = 'value' }}\n\
         channels = [{{ column = 'valve', name = 'valve', unit = '1', column_unit = '%', role = 'input'{between} }},\n\
         {{ column = 'level', name = 'level', unit = 'm' }}]\nsplits.adapt = ['*']"
    );
    archive(table, &settings)
}

fn doses(events: &str) -> Archive {
    doses_in(DOSES, events)
}

fn doses_in(table: &str, events: &str) -> Archive {
    let settings = format!(
        "table = {{ file = 'tanks.csv', environment = 'id', time = 't', rows.EVID = 0 }}\n\
         channels = [{{ column = 'level', name = 'level', unit = 'm' }}]\nsplits.adapt = ['*']\n{events}"
    );
    archive(table, &settings)
}

fn event(rest: &str) -> String {
    format!("[[events]]\nname = 'dose'\nunit = 'mg'\nrows.EVID = 1\n{rest}\n")
}

/// NaN equals NaN.
fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|value| value.to_bits()).collect()
}

fn first(archive: &Archive) -> Trajectory {
    archive.import().1.swap_remove(0).1
}

#[test]
fn an_input_is_interpolated_to_the_times_of_the_states() {
    let linear = valve("", VALVE);
    let (manifest, trajectories, notes) = linear.import();
    let trajectory = &trajectories[0].1;
    assert_eq!(trajectory.times, [0.0, 0.5, 1.0, 2.0, 3.0]);
    assert_eq!(bits(&trajectory.states), bits(&[1.0, f64::NAN, 2.0, 4.0, 5.0]));
    for (value, expected) in trajectory.inputs.iter().zip([0.3, 0.4, 0.5, 0.7, 0.9]) {
        approx::assert_relative_eq!(*value, expected, max_relative = 1e-14);
    }
    assert_eq!((manifest.inputs[0].quantity.name.as_str(), manifest.inputs[0].between), ("valve", Between::Linear));
    assert_eq!((manifest.channels.len(), manifest.channels[0].name.as_str()), (1, "level"));
    insta::assert_snapshot!("notes_inputs", notes.join("\n"));
    let report: Vec<_> = manifest.import_report.iter().map(|it| (it.done.as_str(), it.count)).collect();
    assert_eq!(report, [("converted", 1), ("interpolated", 3), ("input_samples", 1), ("outside", 2)]);
    let card = fs::read_to_string(linear.target().join("README.md")).unwrap();
    assert!(card.contains("- 3 values of input valve interpolated (linear)\n"), "{card}");

    let hold = valve(", between = 'hold'", VALVE);
    assert_eq!(first(&hold).inputs, [0.1, 0.4, 0.4, 0.7, 0.7]);
    // The order of rows means nothing to the samples of different channels.
    let mut rows: Vec<&str> = VALVE.lines().collect();
    rows[1..].rotate_left(4);
    assert_eq!(first(&valve("", &rows.join("\n"))).inputs, trajectory.inputs);
}

#[test]
fn an_input_stands_beside_the_states_of_a_wide_table() {
    let archive =
        Archive::new().replace("a,1,0.3,1.5,0.4", "a,1,0.3,1.5,").replace("a,1,1.0,2.5", "a,1,0.5,,0.8\na,1,1.0,2.5");
    let archive = archive.change(|settings| settings.channels[1].role = import::Role::Input);
    let (_, trajectories, notes) = archive.import();
    let trajectory = &trajectories[0].1;
    assert_eq!(trajectory.times, [0.0, 0.3, 0.5, 1.0]);
    assert_eq!(bits(&trajectory.states), bits(&[1.0, 1.5, f64::NAN, 2.5]));
    assert_eq!(trajectory.inputs, [0.5, 0.4 * 0.5 + 0.6 * 0.8, 0.8, 0.3]);
    insta::assert_snapshot!("notes_wide_inputs", notes.join("\n"));
    // Samples of an input close no gap between states.
    let cut = valve("", VALVE).change(|settings| settings.table.split_gap = Some(0.9));
    assert_eq!(cut.import().1.iter().map(|(_, t)| t.times.clone()).collect::<Vec<_>>(), [[0.0], [1.0], [2.0], [3.0]]);
}

#[test]
fn bad_inputs() {
    insta::assert_snapshot!(
        "input_ends_early",
        valve("", &VALVE.replace("a,3.5,", "a,2.1,").replace("a,3,", "a,9,")).report()
    );
    insta::assert_snapshot!("input_of_one_value", valve("", &VALVE[..VALVE.find("a,0.5").unwrap()]).report());
    let two = VALVE.to_owned() + "b,0,level,1\nb,1,level,1\n";
    insta::assert_snapshot!("input_of_no_value", valve("", &two).report());
    insta::assert_snapshot!("input_twice", valve("", &(VALVE.to_owned() + "a,2,valve,1\n")).report());
    let extended = valve(", extend = true", &VALVE[..VALVE.find("a,0.5").unwrap()]);
    assert_eq!(first(&extended).inputs, [0.1; 4]);
    let settings = valve("", VALVE).change(|settings| {
        settings.channels[1].between = Some(Between::Hold);
        settings.channels[1].extend = true;
    });
    insta::assert_snapshot!("settings_of_inputs", settings.report());
}

#[test]
fn amounts_add_up() {
    let (manifest, trajectories, notes) =
        doses(&event("shape = 'cumulative'\ncolumn = 'amount'\ncolumn_unit = 'ug'")).import();
    assert_eq!(manifest.inputs[0].between, Between::Hold);
    let [a, b] = [&trajectories[0].1, &trajectories[1].1];
    assert_eq!(a.times, [0.0, 1.0, 2.0, 2.5, 4.0]);
    assert_eq!(a.inputs, [0.0, 0.3, 0.4, 0.4, 0.4]);
    assert_eq!(bits(&a.states), bits(&[1.0, 2.0, f64::NAN, 5.0, 6.0]));
    assert_eq!((b.times.as_slice(), b.inputs.as_slice()), (&[0.0, 2.0, 3.0][..], &[0.2; 3][..]));
    insta::assert_snapshot!("notes_events", notes.join("\n"));
}

#[test]
fn pulses_have_edges_and_add_up() {
    let pulse = event("shape = 'pulse'\ncolumn = 'amount'\nduration = 1.25").replace("'mg'", "'mg s-1'");
    let a = first(&doses(&pulse));
    assert_eq!(a.times, [0.0, 1.0, 2.0, 2.25, 2.5, 3.25, 4.0]);
    assert_eq!(a.inputs, [0.0, 240.0, 320.0, 80.0, 80.0, 0.0, 0.0]);
}

#[test]
fn events_beyond_the_observed_states_are_counted() {
    let pulse = event("shape = 'pulse'\ncolumn = 'amount'\nduration = 1.25").replace("'mg'", "'mg s-1'");
    let rows = format!("{DOSES}a,4.5,.,500,1\na,-2,.,500,1\n").replace("a,0,1,.,0\n", "");
    let (_, trajectories, notes) = doses_in(&format!("{rows}a,0,1,.,0\n"), &pulse)
        .change(|settings| settings.table.disorder = Disorder::Sort)
        .import();
    // It begins where the first acts.
    assert_eq!(trajectories[0].1.times[..3], [-2.0, -0.75, 0.0]);
    assert_eq!(trajectories[0].1.inputs, [400.0, 0.0, 0.0, 240.0, 320.0, 80.0, 80.0, 0.0, 0.0]);
    let idle = "1 event of input dose before or after the observed states: without effect".to_owned();
    assert!(notes.contains(&idle), "{notes:?}");
    // What was given before counts.
    let cumulative = event("shape = 'cumulative'\ncolumn = 'amount'");
    let notes = doses_in(&format!("{rows}a,0,1,.,0\n"), &cumulative)
        .change(|settings| settings.table.disorder = Disorder::Sort)
        .import()
        .2;
    assert!(notes.iter().any(|note| note.starts_with("1 event of input dose before or after")), "{notes:?}");
}

#[test]
fn time_since_falls_at_an_event() {
    let since = |rest: &str| event(&format!("shape = 'since'\n{rest}")).replace("'mg'", "'ms'");
    let a = first(&doses(&since("before = 60000")));
    let fall = |time: f64, step: f64| time - 1e-6 * step;
    assert_eq!(a.times, [0.0, fall(1.0, 1.0), 1.0, fall(2.0, 1.0), 2.0, 2.5, 4.0]);
    let expected = [60_000.0, 60_000.0, 0.0, 999.999, 0.0, 500.0, 2000.0];
    for (value, expected) in a.inputs.iter().zip(expected) {
        approx::assert_relative_eq!(*value, expected, max_relative = 1e-9);
    }
    insta::assert_snapshot!("since_before", doses(&since("")).report());
}

#[test]
fn events_may_have_a_file_of_their_own() {
    let in_table = doses(&event("shape = 'cumulative'\ncolumn = 'amount'")).import().1;
    let plain: Vec<&str> = DOSES.lines().filter(|row| !row.ends_with(",1")).collect();
    let of_file = "shape = 'cumulative'\ncolumn = 'mass'\nfile = 'doses.txt'\ndelimiter = ';'\nenvironment = 'who'\ntime = 'when'";
    let events = event(of_file).replace("rows.EVID = 1", "rows.route.not = 'none'");
    let rows = "who;when (min);mass (g);route\na;0.016666666666666666;0.3;oral\nb;0;0.2;oral\na;1;9;none\n";
    let rows = rows.to_owned() + "a;0.03333333333333333;0.1;oral\n";
    let archive = |rows: &str| doses_in(&plain.join("\n"), &events).with("doses.txt", rows);
    let (manifest, trajectories, notes) = archive(&rows).import();
    assert_eq!(format!("{trajectories:?}"), format!("{in_table:?}")); // NaN equals NaN
    assert_eq!(manifest.provenance.parents.len(), 2);
    assert!(notes.contains(&"3 rows taken as events of input dose".to_owned()), "{notes:?}");
    let notes = archive(&(rows.clone() + "c;0;1;oral\n")).import().2;
    assert!(notes.iter().any(|note| note.contains("events of `c`, which the table does not have")), "{notes:?}");
    let kinds = |archive: Archive| archive.check().into_iter().map(|problem| problem.kind).collect::<Vec<_>>();
    let columns = archive(&rows.replace("who", "ID").replace("mass (g)", "mass (m)"));
    assert_eq!(kinds(columns), [paramill::problems::Kind::MissingColumn, paramill::problems::Kind::Unit]);
    let cells = archive(&rows.replace("b;0;0.2", "b;x;").replace("a;0.03333333333333333", ";0"));
    assert_eq!(
        kinds(cells),
        [
            paramill::problems::Kind::MissingValue,
            paramill::problems::Kind::NotANumber,
            paramill::problems::Kind::InvalidId
        ]
    );
}

#[test]
fn bad_events() {
    insta::assert_snapshot!(
        "event_without_row",
        doses(&event("shape = 'cumulative'\ncolumn = 'amount'").replace("EVID = 1", "EVID = 101")).report()
    );
    let brief = event("shape = 'pulse'\ncolumn = 'amount'\nduration = 1e-17").replace("'mg'", "'mg s-1'");
    insta::assert_snapshot!("event_too_brief", doses(&brief).report());
    insta::assert_snapshot!(
        "event_amount_missing",
        doses_in(&DOSES.replace("300", ""), &event("shape = 'cumulative'\ncolumn = 'amount'")).report()
    );
    insta::assert_snapshot!(
        "event_columns",
        doses(&event("shape = 'cumulative'\ncolumn = 'amounts'\nrows.evid = 2")).report()
    );
    let others = event("shape = 'cumulative'\ncolumn = 'amount'").replace("EVID = 1", "amount = 300");
    let undeclared = doses(&others).change(|settings| settings.table.rows.clear());
    insta::assert_snapshot!("event_undeclared", undeclared.report());
    let events = [
        event("shape = 'since'\ncolumn = 'amount'\nduration = 1"),
        event("shape = 'pulse'\nbefore = 0\ncolumn_unit = 'mg'\ntime = 't'").replace("rows.EVID = 1", ""),
        event("shape = 'pulse'\nduration = -1\ncolumn = 'amount'\ncolumn_unit = 'm'"),
        event("shape = 'cumulative'\ncolumn = 'amount'\nfile = '../x.csv'\ndelimiter = 'ab'").replace("dose", "level"),
    ];
    insta::assert_snapshot!("settings_of_events", doses(&events.join("\n")).report());
}
