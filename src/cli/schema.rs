//! `paramill schema`.

use super::arguments::Schema;
use super::output::{print, table};
use crate::atomic;
use crate::pipeline::{Error, published};
use crate::problems::did_you_mean;

pub(crate) fn schema(command: &Schema) -> Result<u8, Error> {
    let published = published();
    if let Some(directory) = &command.write {
        for schema in &published {
            let path = directory.join(format!("{}.json", schema.name));
            atomic::write_file(&path, schema.text().as_bytes()).map_err(Error::io(&path))?;
            print(&format!("{}\n", path.display()));
        }
        return Ok(0);
    }
    let Some(name) = &command.name else {
        let rows: Vec<_> =
            published.iter().map(|schema| vec![schema.name.to_owned(), schema.about.to_owned()]).collect();
        print(&table(&rows));
        return Ok(0);
    };
    match published.iter().find(|schema| schema.name == name) {
        Some(schema) => {
            print(&schema.text());
            Ok(0)
        }
        None => {
            let names: Vec<_> = published.iter().map(|schema| schema.name).collect();
            let remedy = did_you_mean(name, names.iter().copied()).unwrap_or_else(|| "choose one of them".to_owned());
            let expected = names.join(", ");
            Err(Error::Usage(format!("found the schema name `{name}`; expected one of {expected}; {remedy}")))
        }
    }
}
