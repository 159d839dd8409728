//! Event files of TensorBoard, of trainings that are killed.

use std::collections::BTreeMap;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use paramill::progress::{Interrupt, Observer, Run};
use paramill::tensorboard::Scalars;

use super::SHORT;
use super::checkpoints::Killer;
use super::model::{FOUR_PAIRS, Listener, NATIVE, generate, train_settings};

/// A varint and what follows it.
fn varint(bytes: &[u8]) -> (u64, &[u8]) {
    let end = bytes.iter().position(|byte| byte & 0x80 == 0).unwrap();
    let value = bytes[..=end].iter().rev().fold(0, |value, byte| value << 7 | u64::from(byte & 0x7f));
    (value, &bytes[end + 1..])
}

/// The fields of a message by their numbers, each as its bytes or, of a varint, its value.
fn fields(mut message: &[u8]) -> Vec<(u64, Vec<u8>)> {
    let mut fields = Vec::new();
    while !message.is_empty() {
        let (key, behind) = varint(message);
        let (value, rest) = match key & 7 {
            0 => {
                let (value, rest) = varint(behind);
                (value.to_le_bytes().to_vec(), rest)
            }
            1 => (behind[..8].to_vec(), &behind[8..]),
            2 => {
                let (size, behind) = varint(behind);
                (behind[..size as usize].to_vec(), &behind[size as usize..])
            }
            5 => (behind[..4].to_vec(), &behind[4..]),
            other => panic!("wire type {other}"),
        };
        fields.push((key >> 3, value));
        message = rest;
    }
    fields
}

/// The scalars of a file by their tags, each with its step.
fn scalars(directory: &Path) -> BTreeMap<String, Vec<(u64, f32)>> {
    let bytes = fs::read(directory.join("events.out.tfevents.paramill")).unwrap();
    let (mut rest, mut events, mut of_tags) = (bytes.as_slice(), 0, BTreeMap::<_, Vec<_>>::new());
    while !rest.is_empty() {
        let size = u64::from_le_bytes(rest[..8].try_into().unwrap()) as usize;
        let event: BTreeMap<u64, Vec<u8>> = fields(&rest[12..12 + size]).into_iter().collect();
        rest = &rest[12 + size + 4..];
        events += 1;
        if events == 1 {
            assert_eq!(event[&3], b"brain.Event:2");
            continue;
        }
        let step = u64::from_le_bytes(event[&2].as_slice().try_into().unwrap());
        for (_, value) in fields(&event[&5]) {
            let value: BTreeMap<u64, Vec<u8>> = fields(&value).into_iter().collect();
            let tag = String::from_utf8(value[&1].clone()).unwrap();
            let scalar = f32::from_le_bytes(value[&2].as_slice().try_into().unwrap());
            of_tags.entry(tag).or_default().push((step, scalar));
        }
    }
    of_tags
}

#[test]
fn events_are_those_of_the_log_whatever_kills_the_training() {
    let root = tempfile::tempdir().unwrap();
    let (dataset, settings) = (generate(root.path(), FOUR_PAIRS), train_settings(SHORT));
    let (model, events) = (root.path().join("model"), root.path().join("events"));
    let file = events.join("events.out.tfevents.paramill");
    let heard_by = |observer: &dyn Observer| {
        let (interrupt, scalars) = (Interrupt::new(), Scalars::new(&events, observer));
        paramill::train::run(&settings, 1, NATIVE, &dataset, &model, &Run { observer: &scalars, interrupt: &interrupt })
    };
    for (part, at) in [("train", 8), ("gauss-newton", 2)] {
        let killer = Killer::new(part, at);
        assert!(catch_unwind(AssertUnwindSafe(|| heard_by(&killer).is_ok())).is_err(), "the training came to an end");
        // In the midst of an event.
        let bytes = fs::read(&file).unwrap();
        fs::write(&file, &bytes[..bytes.len() - 9]).unwrap();
    }
    let listener = Listener::default();
    let trained = heard_by(&listener).unwrap();
    assert_eq!(listener.warnings(), "");
    let scalars = scalars(&events);
    let of_log = |value: &dyn Fn(&paramill::checkpoint::LogRecord) -> Option<f64>| -> Vec<(u64, f32)> {
        trained.log.iter().filter_map(|record| Some((record.step, value(record)? as f32))).collect()
    };
    assert!(trained.log.len() > 8);
    assert_eq!(scalars["loss/train"], of_log(&|record| Some(record.train)));
    assert_eq!(scalars["loss/validation"], of_log(&|record| record.validation));
    assert_eq!(scalars["learning_rate"], of_log(&|record| (record.step <= 12).then_some(record.learning_rate)));
    let damped: Vec<u64> = scalars["gauss_newton/damping"].iter().map(|(step, _)| *step).collect();
    assert_eq!(damped, [13, 14, 15, 16]);
}

#[test]
fn a_file_that_cannot_be_written_costs_a_warning_and_no_training() {
    let root = tempfile::tempdir().unwrap();
    let dataset = generate(root.path(), FOUR_PAIRS);
    let events = root.path().join("events");
    fs::write(&events, "a file in the place of the folder").unwrap();
    let listener = Listener::default();
    let scalars = Scalars::new(&events, &listener);
    let run = Run { observer: &scalars, interrupt: &listener.interrupt };
    paramill::train::run(&train_settings(SHORT), 1, NATIVE, &dataset, &root.path().join("model"), &run).unwrap();
    assert!(listener.warnings().contains("events for TensorBoard cannot be written"), "{}", listener.warnings());
    assert_eq!(listener.warnings().lines().count(), 1);
}
