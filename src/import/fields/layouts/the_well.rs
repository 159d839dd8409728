//! The Well: `dimensions` with `time` and the axes in space, and fields in `t0_fields`, `t1_fields` and `t2_fields`, the last two with one and two axes
//! of components.
//!
//! An array is `[B, T, n_1, .., n_k, ..]` without the axes along which its attributes `sample_varying`, `time_varying` and `dim_varying` say that it is
//! constant. Each group in `boundary_conditions` says of the axes in `associated_dims` what `bc_type` is. A dataset of ours has this layout too, with the ids
//! in `environment_id` and `trajectory_id`, and the attribute `boundary` of coordinates.
//!
//! Source: R. Ohana et al., The Well, NeurIPS 2024 (datasets and benchmarks), `docs/data_format.md`.

use super::layout::{Layout, OfAxis, names, own_boundary};
use crate::import::fields::array_file::{ArrayFile, Fact};
use crate::import::settings::fields::{CHANNEL, TIME, TRAJECTORY};
use crate::schema::Boundary;

/// The Well.
pub(crate) const LAYOUT: Layout = Layout {
    name: "The Well",
    is_of: |file| file.has_group("t0_fields") && file.find("dimensions/time").is_some(),
    axes,
    time: |_| Some("dimensions/time".to_owned()),
    axis,
    has_a_last_time: false,
    lacks: "splits, ids of environments (it has one environment a file, or values in `scalars`) and, but in files of ours, units",
};

/// Names of the axes in space, in the order of the fields' axes.
fn space(file: &dyn ArrayFile) -> Vec<String> {
    let listed = file.attribute("dimensions", "spatial_dims").unwrap_or_default();
    listed.iter().map(Fact::text).collect()
}

fn axes(file: &mut dyn ArrayFile, array: usize) -> Option<Vec<String>> {
    let name = &file.listed()[array].name;
    // In files of ours, arrays stand beside the groups too.
    let place = |group: &str| match name.contains('/') {
        true => name.starts_with(&format!("{group}/")).then(|| name.clone()),
        false => Some(format!("{group}/{name}")).filter(|path| file.find(path).is_some()),
    };
    let groups = ["t0_fields", "t1_fields", "t2_fields"].into_iter().enumerate();
    let (components, name) = groups.filter_map(|(order, group)| Some((order, place(group)?))).next()?;
    let varies = |attribute: &str| {
        let facts = file.attribute(&name, attribute).unwrap_or_default();
        facts.iter().map(|fact| fact.number() != Some(0.0)).collect::<Vec<_>>()
    };
    let mut axes = Vec::new();
    axes.extend((varies("sample_varying").first() != Some(&false)).then(|| TRAJECTORY.to_owned()));
    axes.extend((varies("time_varying").first() != Some(&false)).then(|| TIME.to_owned()));
    let in_space = varies("dim_varying");
    let space = space(file).into_iter().enumerate();
    axes.extend(space.filter(|(i, _)| in_space.get(*i) != Some(&false)).map(|(_, name)| name));
    axes.extend(names(&[CHANNEL; 2][..components]));
    Some(axes)
}

fn axis(file: &mut dyn ArrayFile, name: &str) -> OfAxis {
    let path = format!("dimensions/{name}");
    let own = own_boundary(file, &path);
    let coordinates = file.find(&path).map(|_| path);
    let inside = "boundary_conditions/";
    let mut conditions: Vec<String> = file
        .listed()
        .iter()
        .filter_map(|it| Some(it.name.strip_prefix(inside)?.split_once('/')?.0.to_owned()))
        .collect();
    conditions.dedup();
    let mut kinds = Vec::new();
    for condition in conditions {
        let path = format!("{inside}{condition}");
        let texts = |attribute: &str| file.attribute(&path, attribute).unwrap_or_default();
        if texts("associated_dims").iter().any(|it| it.text() == name) {
            kinds.extend(texts("bc_type").first().map(|kind| kind.text().to_lowercase()));
        }
    }
    // Where its ends differ, or fields do, only the user can say what is meant.
    kinds.dedup();
    let is_periodic = matches!(kinds.as_slice(), [kind] if kind == "periodic");
    (coordinates, own.or(is_periodic.then_some(Boundary::Periodic)))
}
