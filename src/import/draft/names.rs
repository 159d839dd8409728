//! Names of columns as archives have them, in lower case and without separators between words.

use std::borrow::Cow;

use crate::import::rows::marks::bare_name;

/// Columns of times.
pub(crate) const TIMES: &[&str] = &[
    "time",
    "t",
    "timestamp",
    "date",
    "datetime",
    "day",
    "days",
    "hour",
    "hours",
    "seconds",
    "minutes",
    "week",
    "ts",
    "elapsed",
    "elapsedtime",
    "zeit",
];

/// Columns of ids of what has parameters of its own.
pub(crate) const ENVIRONMENTS: &[&str] = &[
    "environment",
    "env",
    "environmentid",
    // Groups within groups of HDF5 files, as an import names them.
    "group1",
    "id",
    "subject",
    "subjectid",
    "usubjid",
    "patient",
    "patientid",
    "person",
    "experiment",
    "experimentid",
    "simulationconditionid",
    "tank",
    "device",
    "deviceid",
    "ball",
    "animal",
    "animalid",
    "mouse",
    "rat",
    "sample",
    "unit",
    "unitid",
    "well",
    "cell",
    "cellid",
    "battery",
    "batteryid",
    "site",
    "station",
    "host",
    "machine",
    "asset",
    "plant",
    "reactor",
    "culture",
    "vehicle",
    "motor",
    "turbine",
    "system",
    "systemid",
    "room",
    "house",
    "building",
    "node",
    "location",
];

/// Columns of ids of trajectories.
pub(crate) const TRAJECTORIES: &[&str] = &[
    "trajectory",
    "trajectoryid",
    "run",
    "runid",
    "trial",
    "replicate",
    "replicateid",
    "rep",
    "repeat",
    "drop",
    "cycle",
    "occ",
    "occasion",
    "group2",
];

/// Columns that name the channel of a row, from those that name a quantity to those that may name a place or a system.
pub(crate) const CHANNELS: &[&str] = &[
    "channel",
    "channelname",
    "channelid",
    "observableid",
    "observable",
    "variable",
    "variablename",
    "quantity",
    "field",
    "fieldname",
    "parameter",
    "parametername",
    "paramcd",
    "param",
    "metric",
    "metricname",
    "measure",
    "property",
    "attribute",
    "analyte",
    "lbtestcd",
    "lbtest",
    "dvid",
    "ytype",
    "dvname",
    "cmt",
    "signal",
    "signalname",
    "signalid",
    "species",
    "what",
    "series",
    "tag",
    "tagname",
    "tagid",
    "sensor",
    "sensorname",
    "sensorid",
    "point",
    "measurement",
    "name",
    "key",
];

/// Columns of values, in a table with several quantities in one column.
pub(crate) const VALUES: &[&str] = &[
    "value",
    "values",
    "val",
    "measurement",
    "individuals",
    "amount",
    "reading",
    "result",
    "count",
    "y",
    "dv",
    "aval",
    "lbstresn",
];

/// Those that a single quantity may also have.
pub(crate) const VAGUE_VALUES: &[&str] = &["y", "count", "result", "amount"];

/// Columns of units.
pub(crate) const UNITS: &[&str] = &["unit", "units", "uom", "lbstresu"];

/// Columns that number rows.
pub(crate) const ROW_NUMBERS: &[&str] = &[
    "",
    "unnamed:0",
    "index",
    "idx",
    "row",
    "rowid",
    "rowname",
    "rownames",
    "rownum",
    "rownumber",
    "record",
    "recordno",
    "obs",
    "observation",
    "seq",
    "sequence",
    "datapoint",
    "no",
    "nr",
    "number",
    "id",
    "sample",
    "point",
];

/// Columns about the quality of a row.
pub(crate) const FLAGS: &[&str] =
    &["quality", "status", "flag", "valid", "validity", "comment", "note", "notes", "remark"];

/// Kind of a row: 0 for a measurement.
pub(crate) const EVENT: &str = "evid";
/// Amounts as NONMEM names them: every row with one is a dose.
pub(crate) const AMOUNT: &str = "amt";
/// Amounts, which are doses if nothing is measured in their rows.
pub(crate) const AMOUNTS: &[&str] = &[AMOUNT, "amount", "dose", "doseamount", "dosage"];
/// Words for amounts given at once, and for what is given over a time.
const GIVEN: &[&str] = &["dose", "bolus", "dosage", "amt"];
const OVER_TIME: &[&str] = &["rate", "infusion", "level", "flow", "speed"];
/// Columns about doses.
pub(crate) const OF_DOSES: &[&str] =
    &["cmt", "adm", "mdv", "rate", "ii", "addl", "ss", "cens", "limit", "blq", "dur", "duration", "tinf", "evid"];

/// Words for what is set from outside, however it varies.
const SET: &[&str] = &[
    "setpoint",
    "setpt",
    "sp",
    "command",
    "cmd",
    "duty",
    "pwm",
    "doserate",
    "infusionrate",
    "commanded",
    "soll",
    "sollwert",
];
/// Words for what is set from outside if it changes in steps.
const ACTED: &[&str] = &[
    "valve",
    "pump",
    "feed",
    "inflow",
    "voltage",
    "current",
    "u",
    "input",
    "control",
    "heater",
    "cooler",
    "fan",
    "throttle",
    "brake",
    "steering",
    "stimulus",
    "stim",
    "light",
    "load",
    "power",
    "torque",
    "drive",
    "excitation",
    "reference",
    "dose",
    "drug",
    "treatment",
    "infusion",
    "dilution",
    "setting",
    "actuator",
    "switch",
    "gate",
    "relay",
    "stirrer",
    "stirring",
    "stir",
    "ventil",
    "pumpe",
    "heizung",
    "leistung",
    "spannung",
    "strom",
    "drehzahl",
];
/// Words for a measurement, even of what is set.
const MEASURED: &[&str] =
    &["measured", "actual", "feedback", "pv", "response", "reading", "temperature", "temp", "pressure"];
/// Words for quantities, by which no system is named.
const QUANTITIES: &[&str] = &[
    "temperature",
    "temp",
    "pressure",
    "level",
    "flow",
    "voltage",
    "current",
    "speed",
    "velocity",
    "position",
    "height",
    "concentration",
    "conc",
    "ph",
    "humidity",
    "power",
    "torque",
    "force",
    "density",
    "mass",
    "weight",
    "volume",
    "angle",
    "acceleration",
    "co2",
    "oxygen",
    "biomass",
    "glucose",
    "substrate",
    "prey",
    "predator",
];

/// What a name says of whether a column is an input.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum InputHint {
    /// It is one.
    Input,
    /// It often is one.
    PerhapsInput,
    /// Nothing.
    None,
}

/// The words of a name, in lower case: `valve1` and `pos` of `Valve1_pos` or `valve1Pos`.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_small = false;
    for c in name.chars() {
        if !c.is_alphanumeric() || c.is_uppercase() && was_small {
            words.push(String::new());
        }
        if c.is_alphanumeric() {
            words.last_mut().into_iter().for_each(|word| word.extend(c.to_lowercase()));
        }
        was_small = c.is_lowercase();
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Whether one of the words is one of `names`, apart from a number behind it.
fn has(words: &[String], names: &[&str]) -> bool {
    words.iter().any(|word| names.contains(&word.as_str()) || names.contains(&without_number(word)))
}

fn without_number(word: &str) -> &str {
    word.trim_end_matches(|c: char| c.is_ascii_digit())
}

/// What the words of `name` say of whether it is an input.
pub(crate) fn input_hint(name: &str) -> InputHint {
    let words = words(name);
    let joined: Cow<'_, str> = bare_name(name).into();
    if has(&words, &["measured", "actual", "feedback", "pv", "response", "reading"]) {
        InputHint::None
    } else if has(&words, SET) || SET.contains(&without_number(&joined)) {
        InputHint::Input
    } else if has(&words, ACTED) && !has(&words, MEASURED) {
        InputHint::PerhapsInput
    } else {
        InputHint::None
    }
}

/// Whether a name is that of amounts given at once.
pub(crate) fn is_dose(name: &str) -> bool {
    let words = words(name);
    has(&words, GIVEN) && !has(&words, OVER_TIME)
}

/// Whether a word of the name is one for times.
pub(crate) fn speaks_of_time(name: &str) -> bool {
    has(&words(name), TIMES)
}

/// Whether a word of the name is a quantity.
pub(crate) fn is_quantity(name: &str) -> bool {
    has(&words(name), QUANTITIES)
}
