//! Event files of TensorBoard: the scalars of a training by its steps.
//!
//! A file is a row of records (`record`), each an `Event` of TensorFlow in the encoding of protocol buffers (`event`). Source:
//! tensorflow/core/lib/io/record_writer.h and tensorflow/core/util/event.proto of TensorFlow.

mod crc32c;
mod record;
mod event;
mod file;
mod scalars;

pub use scalars::Scalars;
