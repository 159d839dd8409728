//! Samples and doses of one time, doses before the first sample, and what a mapping of doses does not read.

use super::*;

/// A person's readings, and a dose between two of them.
const DOSE: &str = "\
id,t,level,amount,EVID
a,0,10,.,0
a,1,8,.,0
a,2,.,100,1
a,2,9,.,0
a,3,7,.,0
";

const BOLUS: &str = "[[events]]\nname = 'dose'\nunit = 'mg h-1'\nrows.EVID = 1\nshape = 'pulse'\ncolumn = 'amount'\nduration = 0.015625\n";

/// Before 2, as far as the dose takes.
const START: f64 = 2.0 - 0.015625;
/// A dose of 100 over its duration.
const RATE: f64 = 6400.0;

fn archive(table: &str, settings: &str) -> Archive {
    let settings = format!("dataset = 'doses'\ndirectory = 'archive'\ntime_unit = 'h'\n{settings}");
    Archive::new().with("tanks.csv", table).change(|all| *all = toml::from_str(&settings).unwrap())
}

fn doses(table: &str, events: &str) -> Archive {
    let settings = format!(
        "table = {{ file = 'tanks.csv', environment = 'id', time = 't', missing = ['.'], rows.EVID = 0 }}\n\
         channels = [{{ column = 'level', name = 'level', unit = 'm' }}]\nsplits.adapt = ['*']\n{events}"
    );
    archive(table, &settings)
}

/// Times, states and inputs of the first trajectory; a missing state is -1.
fn course(archive: &Archive) -> [Vec<f64>; 3] {
    let Trajectory { times, states, inputs, .. } = archive.import().1.swap_remove(0).1;
    [times, states.into_iter().map(|value| if value.is_nan() { -1.0 } else { value }).collect(), inputs]
}

fn after() -> [Vec<f64>; 3] {
    [vec![0.0, 1.0, START, 2.0, 3.0], vec![10.0, 8.0, -1.0, 9.0, 7.0], vec![0.0, 0.0, RATE, 0.0, 0.0]]
}

fn before() -> [Vec<f64>; 3] {
    let end = 2.0 + 0.015625;
    [vec![0.0, 1.0, 2.0, end, 3.0], vec![10.0, 8.0, 9.0, -1.0, 7.0], vec![0.0, 0.0, RATE, 0.0, 0.0]]
}

fn says(order: &str) -> String {
    format!("at_equal_times = '{order}'\n{BOLUS}")
}

#[test]
fn a_sample_sees_a_dose_whose_row_stands_first() {
    let dose_first = doses(DOSE, BOLUS);
    assert_eq!(course(&dose_first), after());
    let notes = dose_first.import().2;
    let note = "1 sample at the time of an event, 1 of them taken as after it";
    assert!(notes.iter().any(|it| it == note), "{notes:?}");

    let sample_first = DOSE.replace("a,2,.,100,1\na,2,9,.,0\n", "a,2,9,.,0\na,2,.,100,1\n");
    assert_eq!(course(&doses(&sample_first, BOLUS)), before());
    let report = doses(&sample_first, BOLUS).import().0.import_report;
    let of_events = report.iter().find(|it| it.done == "at_events").unwrap();
    assert_eq!(of_events.text, "1 sample at the time of an event, 0 of them taken as after it");

    for table in [DOSE, sample_first.as_str()] {
        assert_eq!(course(&doses(table, &says("event-first"))), after());
        assert_eq!(course(&doses(table, &says("sample-first"))), before());
    }
    assert_eq!(course(&doses(DOSE, &says("rows"))), after());
    let stamps = |table: &str| {
        (0..4).fold(table.to_owned(), |it, t| it.replace(&format!("a,{t},"), &format!("a,2021-01-01T0{t}:00Z,")))
    };
    assert_eq!(course(&doses(&stamps(DOSE), BOLUS)), after());
    assert_eq!(course(&doses(&stamps(&sample_first), BOLUS)), before());
}

#[test]
fn each_of_several_rows_of_one_time_has_its_place() {
    // Two doses, one on either side of the sample.
    let two = DOSE.replace("a,2,9,.,0\n", "a,2,9,.,0\na,2,.,50,1\n");
    let [times, states, inputs] = course(&doses(&two, BOLUS));
    assert_eq!(times, [0.0, 1.0, START, 2.0, 2.015625, 3.0]);
    assert_eq!(states, [10.0, 8.0, -1.0, 9.0, -1.0, 7.0]);
    assert_eq!(inputs, [0.0, 0.0, RATE, RATE / 2.0, 0.0, 0.0]);
    let both = DOSE.replace("a,2,9,.,0\n", "a,2,.,50,1\na,2,9,.,0\n");
    assert_eq!(course(&doses(&both, BOLUS))[2], [0.0, 0.0, 1.5 * RATE, 0.0, 0.0]);

    // A trough and a peak: two samples, one where the pulse begins.
    let trough = DOSE.replace("a,2,.,100,1\n", "a,2,3,.,0\na,2,.,100,1\n");
    let [times, states, inputs] = after();
    let states = states.into_iter().map(|value| if value == -1.0 { 3.0 } else { value }).collect();
    assert_eq!(course(&doses(&trough, BOLUS)), [times, states, inputs]);
    // They are two values of one time where nothing is said to come between them.
    assert_eq!(doses(&trough, &says("event-first")).check()[0].kind, paramill::problems::Kind::DuplicateTime);

    let between = DOSE.replace("a,2,9,.,0\n", "a,2,9,.,0\na,2,.,50,1\na,2,12,.,0\n");
    let problems = doses(&between, BOLUS).check();
    assert_eq!(problems[0].kind, paramill::problems::Kind::EqualTimes, "{problems:?}");
    assert!(problems[0].found.starts_with("samples between several events at time 2 of"), "{problems:?}");
}

#[test]
fn channels_of_a_long_table_stand_on_either_side_of_a_dose() {
    let rows = "id,t,what,value,EVID\na,0,level,10,0\na,0,flow,1,0\na,1,level,8,0\na,1,flow,2,0\na,2,level,6,0\n\
                a,2,dose,100,1\na,2,flow,3,0\na,3,level,7,0\na,3,flow,4,0\n";
    let settings = format!(
        "table = {{ file = 'tanks.csv', environment = 'id', time = 't', layout = 'long', channel = 'what', value = 'value', rows.EVID = 0 }}\n\
         channels = [{{ column = 'level', name = 'level', unit = 'm' }}, {{ column = 'flow', name = 'flow', unit = 'm' }}]\n\
         splits.adapt = ['*']\n{}",
        BOLUS.replace("'amount'", "'value'")
    );
    let [times, states, inputs] = course(&archive(rows, &settings));
    assert_eq!((times, inputs), (vec![0.0, 1.0, START, 2.0, 3.0], vec![0.0, 0.0, RATE, 0.0, 0.0]));
    assert_eq!(states, [10.0, 1.0, 8.0, 2.0, 6.0, -1.0, -1.0, 3.0, 7.0, 4.0]);
}

#[test]
fn what_no_order_of_rows_says_must_be_said() {
    let sorted = |settings: &mut Settings| settings.table.disorder = Disorder::Sort;
    let of_file = BOLUS.replace("rows.EVID = 1", "file = 'doses.csv'");
    let plain = DOSE.replace("a,2,.,100,1\n", "");
    let apart = || doses(&plain, &of_file).with("doses.csv", "id,t,amount\na,2,100\n");
    insta::assert_snapshot!("equal_times_of_two_files", apart().report());
    insta::assert_snapshot!("equal_times_of_no_order", doses(DOSE, BOLUS).change(sorted).report());
    let heap = DOSE.replace("a,2,.,100,1\n", "") + "a,2,.,100,1\nb,2,.,100,1\nb,0,1,.,0\nb,1,2,.,0\nb,2,9,.,0\n";
    insta::assert_snapshot!("equal_times_of_a_heap", doses(&heap, BOLUS).report());

    let say = |order: &str| {
        let order: toml::Value = toml::Value::String(order.to_owned());
        move |settings: &mut Settings| settings.at_equal_times = Some(order.try_into().unwrap())
    };
    assert_eq!(course(&apart().change(say("event-first"))), after());
    assert_eq!(course(&apart().change(say("sample-first"))), before());
    assert_eq!(course(&doses(DOSE, BOLUS).change(sorted).change(say("event-first"))), after());
    assert_eq!(apart().change(say("rows")).check()[0].kind, paramill::problems::Kind::EqualTimes);
    // Samples of one of two files, the dose in the other.
    let two = doses("id,t,level,amount,EVID\na,2,.,100,1\n", BOLUS).with("more.csv", &plain);
    let two = two.change(|settings| settings.table.file = Names(vec!["tanks.csv".into(), "more.csv".into()]));
    assert!(two.check()[0].found.contains("the two are in different files"), "{:?}", two.check());
    assert_eq!(course(&two.change(say("event-first"))), after());
}

#[test]
fn only_brief_pulses_make_a_difference() {
    let long = BOLUS.replace("0.015625", "0.5");
    let notes = doses(DOSE, &long).import().2;
    assert_eq!(course(&doses(DOSE, &long))[2], [0.0, 0.0, 200.0, 0.0, 0.0]);
    let warning = "found 1 sample (first at time 2 of trajectory \"1\" of environment \"a\") at which a pulse begins";
    assert!(notes.iter().any(|it| it.contains(warning)), "{notes:?}");
    for (table, events) in [
        (DOSE.to_owned(), long.replace("0.5", "0.75")),
        (DOSE.to_owned(), format!("at_equal_times = 'sample-first'\n{long}")),
        (DOSE.replace("a,2,.,100,1\na,2,9,.,0\n", "a,2,9,.,0\na,2,.,100,1\n"), long.clone()),
        (DOSE.replace(",100,1", ",0,1"), BOLUS.to_owned()),
        (
            DOSE.to_owned(),
            BOLUS.replace("'pulse'", "'cumulative'").replace("duration = 0.015625", "").replace(" h-1", ""),
        ),
    ] {
        let archive = doses(&table, &events).change(|settings| settings.table.disorder = Disorder::Sort);
        let notes = archive.import().2;
        assert!(!notes.iter().any(|it| it.contains("at the time of an event") || it.contains("begins")), "{notes:?}");
    }
}

#[test]
fn the_order_of_rows_says_nothing_else() {
    let doses = |rows: &str| doses(rows, BOLUS);
    let second = "b,0,1,.,0\nb,1,2,.,0\nb,1,.,100,1\nb,2,9,.,0\n";
    let head = DOSE.lines().next().unwrap();
    let plain = doses(&format!("{DOSE}{second}")).import().1;
    // Records stand one in the other; a dose apart from samples stands anywhere that is in the order of time.
    let mixed: Vec<&str> = second.lines().zip(DOSE.lines().skip(1)).flat_map(|(b, a)| [b, a]).collect();
    let last = DOSE.lines().last().unwrap();
    let mixed = doses(&format!("{head}\n{}\n{last}\n", mixed.join("\n"))).import().1;
    assert_eq!(format!("{mixed:?}"), format!("{plain:?}")); // NaN equals NaN

    let mut rows: Vec<&str> = DOSE.lines().skip(1).chain(second.lines()).collect();
    let of = |rows: &[&str]| {
        let archive = doses(&format!("{head}\n{}\n", rows.join("\n"))).change(|settings| {
            settings.table.disorder = Disorder::Sort;
            settings.at_equal_times = toml::Value::String("event-first".into()).try_into().ok();
        });
        format!("{:?}", archive.import().1)
    };
    let sorted = of(&rows);
    rows.rotate_left(4);
    rows.swap(1, 6);
    assert_eq!(of(&rows), sorted);
}

#[test]
fn a_trajectory_begins_at_its_first_event() {
    let late = "id,t,level,amount,EVID\na,-9,.,.,0\na,-3,.,100,1\na,-1,.,.,0\na,0,5,.,0\na,1,4,.,0\na,2,3,.,0\n";
    let pulse = BOLUS.replace("0.015625", "0.5");
    let [times, states, inputs] = course(&doses(late, &pulse));
    assert_eq!((times, inputs), (vec![-3.0, -2.5, 0.0, 1.0, 2.0], vec![200.0, 0.0, 0.0, 0.0, 0.0]));
    assert_eq!(states, [-1.0, -1.0, 5.0, 4.0, 3.0]);
    let notes = doses(late, &pulse).import().2;
    assert!(notes.iter().any(|it| it == "1 trajectory begun at an event before the first observed state"), "{notes:?}");
    assert!(!notes.iter().any(|it| it.contains("without effect")), "{notes:?}");
    // What is cut off its end takes nothing of its beginning, and nothing else begins earlier.
    let cut = doses(late, &pulse).change(|settings| settings.table.split_length = Some(1.5));
    assert_eq!(course(&cut)[0], [-3.0, -2.5, 0.0, 1.0]);
    assert_eq!(course(&doses(&late.replace("a,-3,.,100,1\n", "a,2,.,100,1\n"), &pulse))[0][0], 0.0);
    // A dose that the first sample sees begins before it.
    let seen = late.replace("a,-3,.,100,1\na,-1,.,.,0\n", "a,0,.,100,1\n");
    assert_eq!(course(&doses(&seen, BOLUS))[0][..2], [-0.015625, 0.0]);

    // An input that is not known there lets it begin no earlier.
    let heated = "id,t,level,amount,heat,EVID\na,-3,.,100,.,1\na,0,5,.,1,0\na,1,4,.,1,0\na,2,3,.,1,0\n";
    let heat = |settings: &mut Settings, extend: bool| {
        let channel = format!("column = 'heat'\nname = 'heat'\nunit = 'W'\nrole = 'input'\nextend = {extend}");
        settings.channels.push(toml::from_str(&channel).unwrap());
    };
    let begins = |extend: bool| course(&doses(heated, &pulse).change(|settings| heat(settings, extend)))[0][0];
    assert_eq!((begins(true), begins(false)), (-3.0, 0.0));
    // Nor one of the time since another event that was not yet.
    let since = "[[events]]\nname = 'since'\nunit = 'h'\nrows.EVID = 2\nshape = 'since'\n";
    let other = late.replace("a,0,5,.,0\n", "a,-1,.,.,2\na,0,5,.,0\n");
    assert_eq!(course(&doses(&other, &format!("{pulse}{since}")))[0][0], 0.0);
    let [times, _, inputs] = course(&doses(&other, &format!("{pulse}{since}before = 48")));
    assert_eq!((times[0], &inputs[..2], times[2]), (-3.0, &[200.0, 48.0][..], -1.000002));
}

/// What the notes warn of.
fn warnings(archive: &Archive) -> Vec<String> {
    archive.import().2.into_iter().filter(|note| note.contains("; expected")).collect()
}

#[test]
fn columns_that_change_what_rows_mean_are_named() {
    let rows = "ID,TIME,AMT,RATE,II,ADDL,SS,CMT,EVID,MDV,CENS,DV\n1,0,0,0,0,0,0,2,0,0,0,1\n1,0,60,0,24,3,1,1,1,1,0,7\n\
                1,1,0,0,0,0,0,2,0,0,1,5\n1,2,0,0,0,0,0,3,0,1,-1,4\n1,3,30,10,0,0,0,2,4,1,0,0\n1,4,0,0,0,0,0,2,0,1,0,.\n\
                1,5,0,0,0,0,0,2,0,0,0,3\n";
    let settings = "table = { file = 'tanks.csv', environment = 'ID', time = 'TIME', missing = ['.'], rows.EVID = 0 }\n\
                    channels = [{ column = 'DV', name = 'level', unit = 'm' }]\nsplits.adapt = ['*']\n";
    let events = BOLUS.replace("amount", "AMT").replace("EVID = 1", "EVID = [1, 4]");
    insta::assert_snapshot!("columns_unread", warnings(&archive(rows, &format!("{settings}{events}"))).join("\n"));
    // What is read, or says nothing that the mapping does not, is not named.
    let read = settings.replace("rows.EVID = 0", "rows = { EVID = 0, MDV = 0, CENS = 0, CMT = 2 }");
    let of_events =
        events.replace("rows.EVID = [1, 4]", "rows.EVID = 1\nrows.SS = 0\nrows.CMT = 1").replace("0.015625", "6");
    let plain = rows.replace("0,24,3,1,1,1,1,0,7", "10,0,0,0,1,1,1,0,0").replace("1,3,30,10,0,0,0,2,4,1,0,0\n", "");
    assert_eq!(warnings(&archive(&plain, &format!("{read}{of_events}"))), [] as [&str; 0]);
    let slower = archive(&plain, &format!("{read}{}", of_events.replace("duration = 6", "duration = 3")));
    assert!(warnings(&slower)[0].contains("`RATE`: found another duration"), "{:?}", warnings(&slower));
    // An amount of which nothing is made.
    let undeclared = "ID,TIME,AMT,DV\n1,0,60,.\n1,1,0,5\n1,2,0,4\n";
    let found = warnings(&archive(undeclared, &settings.replace(", rows.EVID = 0", "")));
    assert!(found[0].contains("`AMT`: found the amount of a dose in 1 row taken as samples"), "{found:?}");
    // In a file of the events' own, too.
    let of_file = BOLUS.replace("rows.EVID = 1", "file = 'doses.csv'");
    let apart =
        doses(&DOSE.replace("a,2,.,100,1\n", ""), &of_file).with("doses.csv", "id,t,amount,addl\na,1.5,100,2\n");
    assert!(
        warnings(&apart)[0].contains("doses.csv:2, column 4 `addl`: found additional doses"),
        "{:?}",
        warnings(&apart)
    );
}

#[test]
fn values_of_conditions_that_no_row_has_are_named() {
    let events = BOLUS.replace("EVID = 1", "EVID = [1, 101]");
    let archive = doses(DOSE, &events).change(|settings| {
        let condition = |text: &str| toml::from_str::<std::collections::BTreeMap<String, _>>(text).unwrap();
        settings.table.rows.extend(condition("level.not = ['1e3', 7.0]"));
        settings.table.rows.extend(condition("t = [0, 1.0, 2, 3, 5]"));
    });
    insta::assert_snapshot!("conditions_unmet", warnings(&archive).join("\n"));
    let side = Archive::new().change(|settings| {
        let side = settings.side_table.as_mut().unwrap();
        side.rows.insert("height".into(), import::Condition::Is(["2", "3", "4"].map(str::to_owned).to_vec()));
    });
    assert!(warnings(&side)[0].starts_with("import.side_table.rows.height: found \"4\", which no row has"));
}

/// Doses of 100 into a volume of 10, cleared at 0.15: the peak that the last dose's sample saw is no trough.
#[test]
fn a_peak_at_the_time_of_its_dose_gives_the_parameters() {
    let level = |t: f64| -> f64 {
        let given = [0.0, 12.0, 24.0].into_iter().filter(|dose| *dose <= t);
        given.map(|dose| 10.0 * (-0.15 * (t - dose)).exp()).sum()
    };
    let sample = |t: f64| format!("a,{t},{},.,0\n", level(t));
    let sampled = |times: &[f64]| times.iter().map(|&t| sample(t)).collect::<String>();
    let dose = |t: f64| format!("a,{t},.,100,1\n");
    let table = [
        "id,t,level,amount,EVID\n".to_owned(),
        sampled(&[-0.25]),
        dose(0.0),
        sampled(&[1.0, 2.0, 5.0, 9.0, 11.0]),
        dose(12.0),
        sampled(&[13.0, 14.0, 17.0, 21.0, 23.0]),
        dose(24.0),
        sampled(&[24.0, 25.0, 27.0, 31.0]),
    ];
    let archive = doses(&table.concat(), &BOLUS.replace("0.015625", "0.001"));
    archive.import();
    let settings = r#"
        method = "physics"
        [physics.system]
        name = "bolus"
        time_unit = "h"
        horizon = 36.0
        time_step = 1.0
        states = [{ name = "level", unit = "m", derivative = "dose / volume - elimination * level", initial = [0.0, 50.0] }]
        inputs = [{ name = "dose", unit = "mg h-1" }]
        parameters = [
            { name = "elimination", unit = "h-1", lower = 0.001, upper = 5.0 },
            { name = "volume", unit = "mg m-1", lower = 1.0, upper = 200.0 },
        ]
    "#;
    let place = archive.root.path().join("estimates");
    let dataset = Dataset::open(&archive.target()).unwrap();
    let settings: paramill::estimate::Settings = toml::from_str(settings).unwrap();
    let outcome = paramill::estimate::physics::run(&settings, &dataset, &place, &run(&Record::default())).unwrap();
    let row = &paramill::estimate::read_rows(&place, &outcome.manifest, Split::Adapt).unwrap()[0];
    for (value, truth) in row.parameters.iter().map(|it| it.value).zip([0.15, 10.0]) {
        approx::assert_relative_eq!(value, truth, max_relative = 1e-3);
    }
}
