//! Amounts that are given at once: their order beside samples, additional doses, resets and intervals of steady states.

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

const BOLUS: &str = "[[events]]\nname = 'dose'\nunit = 'mg'\nrows.EVID = [1, 4]\nshape = 'bolus'\ncolumn = 'amount'\n";

fn doses(table: &str, events: &str) -> Archive {
    let settings = format!(
        "dataset = 'doses'\ndirectory = 'archive'\ntime_unit = 'h'\n\
         table = {{ file = 'tanks.csv', environment = 'id', time = 't', missing = ['.'], rows.EVID = 0 }}\n\
         channels = [{{ column = 'level', name = 'level', unit = 'm' }}]\nsplits.adapt = ['*']\n{events}"
    );
    Archive::new().with("tanks.csv", table).change(|all| *all = toml::from_str(&settings).unwrap())
}

/// Times and inputs of the first trajectory.
fn course(archive: &Archive) -> [Vec<f64>; 2] {
    let Trajectory { times, inputs, .. } = archive.import().1.swap_remove(0).1;
    [times, inputs]
}

#[test]
fn a_sample_sees_what_was_given_before_it() {
    let first = course(&doses(DOSE, BOLUS));
    assert_eq!(first, [vec![0.0, 1.0, 2.0 - 1e-9, 2.0, 3.0], vec![0.0, 0.0, 100.0, 100.0, 100.0]]);
    let later = course(&doses(DOSE, &format!("at_equal_times = 'sample-first'\n{BOLUS}")));
    assert_eq!(later, [vec![0.0, 1.0, 2.0, 3.0], vec![0.0, 0.0, 100.0, 100.0]]);
}

/// What was given before a trajectory, which begins where its other inputs are known, is not given at its beginning.
#[test]
fn what_was_given_before_a_trajectory_is_left_out() {
    let table = "\
id,t,level,amount,EVID,flow
a,-9,.,40,1,.
a,-5,10,.,0,1
a,-4.5,.,100,1,.
a,-4,9,.,0,1
";
    let lead = course(&doses(table, BOLUS));
    assert_eq!(lead, [vec![-9.0, -5.0, -4.5, -4.0], vec![40.0, 40.0, 140.0, 140.0]]);
    let flow = "{ column = 'flow', name = 'flow', unit = 'm', role = 'input' }";
    let archive = doses(table, BOLUS).change(|all| {
        all.channels
            .push(toml::from_str::<toml::Table>(&format!("it = {flow}")).unwrap()["it"].clone().try_into().unwrap())
    });
    assert_eq!(course(&archive), [vec![-5.0, -4.5, -4.0], vec![1.0, 0.0, 1.0, 100.0, 1.0, 100.0]]);
}

const REPEATED: &str = "\
id,t,level,amount,EVID,ADDL,II,SS
a,0,10,.,0,.,.,.
a,0.5,.,100,1,2,1,0
a,1,8,.,0,.,.,.
a,2,9,.,0,.,.,.
a,2.75,.,50,1,0,0.5,1
a,2.875,.,30,4,.,0,0
a,3,7,.,0,.,.,.
";

#[test]
fn additional_doses_resets_and_steady_states_are_read() {
    let events = format!(
        "{BOLUS}additional = 'ADDL'\ninterval = 'II'\n\
         [[events]]\nname = 'reset'\nunit = '1'\nrows.EVID = [3, 4]\nshape = 'bolus'\n\
         [[events]]\nname = 'steady'\nunit = 'h'\nrows.SS = 1\nshape = 'bolus'\ncolumn = 'II'\n"
    );
    let archive = doses(REPEATED, &events);
    let [times, inputs] = course(&archive);
    assert_eq!(times, [0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 2.75, 2.875, 3.0]);
    let column = |input: usize| inputs.iter().skip(input).step_by(3).copied().collect::<Vec<_>>();
    assert_eq!(column(0), [0.0, 100.0, 100.0, 200.0, 200.0, 300.0, 350.0, 380.0, 380.0]);
    assert_eq!(column(1), [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0]);
    assert_eq!(column(2), [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.5, 0.5, 0.5]);
    let unread = archive.import().2;
    assert!(!unread.iter().any(|it| it.contains("does not read")), "{unread:?}");
}

/// Infusions in their steady state: the section of their intervals is of the same rows, whose duration the section of the pulses reads.
#[test]
fn intervals_of_infusions_are_read() {
    let table = "\
id,t,level,amount,RATE,EVID,ADDL,II,SS
a,0,10,.,.,0,.,.,.
a,0.5,.,100,50,1,0,12,1
a,1,8,.,.,0,.,.,.
a,14,.,100,50,1,0,12,0
a,20,7,.,.,0,.,.,.
";
    let pulse =
        "[[events]]\nname = 'rate'\nunit = 'mg h-1'\nrows.EVID = 1\nshape = 'pulse'\ncolumn = 'amount'\nduration = 2\n";
    let every = "[[events]]\nname = 'every'\nunit = 'h'\nrows.SS = 1\nshape = 'bolus'\ncolumn = 'II'\n";
    let unread = |table: &str, events: &str| {
        let notes = doses(table, events).import().2;
        notes.into_iter().filter(|it| it.contains("does not read")).collect::<Vec<_>>()
    };
    assert_eq!(unread(table, &format!("{pulse}{every}")), [] as [&str; 0]);
    // An interval at which nothing is repeated says nothing; one at which something is does.
    let once = table.replace("1,0,12,1", "1,0,12,0");
    assert_eq!(unread(&once, pulse), [] as [&str; 0]);
    let said = unread(table, pulse).concat();
    assert!(said.contains("`II`: found an interval") && said.contains("in 1 row") && said.contains("`SS`"), "{said}");
    let slower = unread(table, &format!("{}{every}", pulse.replace("duration = 2", "duration = 3"))).concat();
    assert!(slower.contains("`RATE`: found another duration of the infusion in 2 rows"), "{slower}");
}

#[test]
fn doses_that_cannot_be_are_refused() {
    let repeated = format!("{BOLUS}additional = 'ADDL'\ninterval = 'II'\n");
    let at_sample = REPEATED.replace("a,0.5,.,100,1,2,1", "a,0.5,.,100,1,2,0.5");
    for (table, events, expected) in [
        (REPEATED.replace("1,2,1,0", "1,2,-1,0"), repeated.as_str(), "`II`: found \"-1\"; expected a time above 0"),
        (REPEATED.replace("1,2,1,0", "1,2,.,0"), &repeated, "expected a time above 0"),
        (REPEATED.replace("1,2,1,0", "1,2.5,1,0"), &repeated, "expected a whole number from 0 to 100000"),
        (REPEATED.replace("1,2,1,0", "1,-2,1,0"), &repeated, "expected a whole number from 0 to 100000"),
        (REPEATED.replace("100,1", "-100,1"), &repeated, "expected an amount of at least 0"),
        (at_sample, &repeated, "an additional one, without a row of its own"),
        (REPEATED.to_owned(), &format!("{BOLUS}additional = 'ADDL'"), "nothing, and `additional` doses"),
        (REPEATED.to_owned(), &format!("{BOLUS}interval = 'II'"), "a column, and no `additional` doses"),
        (REPEATED.to_owned(), &BOLUS.replace("column = 'amount'", ""), "`1` where nothing but events is counted"),
        (REPEATED.to_owned(), &format!("splits.adapt_test.last = 0.5\n{BOLUS}"), "whole trajectories"),
    ] {
        let report = doses(&table, events).report();
        assert!(report.contains(expected), "{expected}: {report}");
    }
}
