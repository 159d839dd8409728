//! Files in many forms: several of them, units in headers, decimal commas, comments, compression, conditions, missing cells.

use std::io::Write;

use super::*;

/// Bits, for which NaN equals NaN.
fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|value| value.to_bits()).collect()
}

/// The tanks without the columns of their names: one file a tank and run.
fn in_files() -> Archive {
    let mut files: std::collections::BTreeMap<String, String> = Default::default();
    for row in TANKS.lines().skip(1) {
        let [tank, run, rest] = row.splitn(3, ',').collect::<Vec<_>>()[..] else { panic!() };
        let file = files.entry(format!("{tank}-{run}.csv")).or_insert_with(|| "t,level,flow\n".into());
        *file += &format!("{rest}\n");
    }
    let archive = Archive::new().change(|settings| {
        settings.table.file = one("{environment}-{trajectory}.csv");
        settings.table.environment = Default::default();
        settings.table.trajectory = Default::default();
    });
    files.into_iter().fold(archive, |archive, (name, text)| archive.with(&name, text))
}

#[test]
fn missing_cells_are_kept_and_counted() {
    let archive = Archive::new().replace("a,1,0.3,1.5,0.4", "a,1,0.3,,NA").replace("a,2,0,2,1", "a,2,0,-999.0,1");
    let archive = archive.change(|settings| settings.table.missing = vec!["NA".into(), "-999".into()]);
    let (_, trajectories, notes) = archive.import();
    let [first, second] = [&trajectories[0].1, &trajectories[2].1];
    assert_eq!((first.times.as_slice(), first.states.as_slice()), (&[0.0, 1.0][..], &[1.0, 0.5, 2.5, 0.3][..]));
    assert_eq!(bits(&second.states), bits(&[f64::NAN, 1.0, 3.0, 1.0]));
    insta::assert_snapshot!("notes_missing", notes.join("\n"));
}

#[test]
fn channels_may_have_times_of_their_own() {
    let archive = Archive::long().replace("a,1,0,flow,10", "a,1,0.5,flow,10").replace("a,2,0,flow,12\n", "");
    let (_, trajectories, notes) = archive.import();
    assert_eq!(trajectories[0].1.times, [0.0, 0.5, 1.0]);
    assert_eq!(bits(&trajectories[0].1.states), bits(&[1.0, f64::NAN, f64::NAN, 10.0, 2.0, 11.0]));
    insta::assert_snapshot!("notes_union", notes.join("\n"));
}

#[test]
fn duplicates_follow_the_setting() {
    let archive = || {
        Archive::long().replace("a,1,1,flow,11", "a,1,0,flow,12").replace("a,1,1,level", "a,1,1,flow,1\na,1,1,level")
    };
    for (duplicates, flow) in [(Duplicates::Mean, 11.0), (Duplicates::First, 10.0), (Duplicates::Last, 12.0)] {
        let archive = archive().change(|settings| settings.table.duplicates = duplicates);
        assert_eq!(archive.import().1[0].1.states, [1.0, flow, 2.0, 1.0]);
    }
    // A mean does not depend on the order of rows.
    let rows = |rows: &[&str]| {
        let table = format!("tank,run,t,level,flow\na,1,1,9,9\na,2,0,1,1\na,2,1,2,2\n{}\n", rows.join("\n"));
        let archive = Archive::new().with("tanks.csv", table).without_side_table().change(|settings| {
            settings.splits.adapt.clear();
            settings.splits.adapt_test = Default::default();
            settings.table.duplicates = Duplicates::Mean;
            settings.table.disorder = Disorder::Sort;
        });
        archive.import().1[0].1.states.clone()
    };
    let three = ["a,1,0,0.1,1", "a,1,0,0.2,1", "a,1,0,0.7,1"];
    assert_eq!(rows(&three), rows(&[three[2], three[0], three[1]]));
}

#[test]
fn ids_are_taken_from_the_names_of_files() {
    let plain = Archive::new().import();
    let (manifest, trajectories, _) = in_files().import();
    assert_eq!(trajectories, plain.1);
    assert_eq!(manifest.provenance.parents.len(), 7);
    // A list of files, one of which has rows of a trajectory that another has begun.
    let (begin, end) = TANKS.split_at(TANKS.find("b,2,0.5").unwrap());
    let archive = Archive::new().with("tanks.csv", begin).with("more.csv", format!("tank,run,t,level,flow\n{end}"));
    let archive = archive.change(|settings| settings.table.file = Names(vec!["tanks.csv".into(), "m*.csv".into()]));
    assert_eq!(archive.import().1, plain.1);
    // Without a pattern a file is an environment of its own name.
    let archive = Archive::new().without_side_table().with("a.csv", "t,level,flow\n0,1,2\n1,2,3\n2,3,4\n3,4,5\n");
    let archive = archive.change(|settings| {
        settings.table.file = one("a.csv");
        settings.table.environment = Default::default();
        settings.table.trajectory = Default::default();
        settings.splits = toml::from_str("validation = { last = 0.5 }").unwrap();
    });
    let trajectories = archive.import().1;
    let ids: Vec<_> =
        trajectories.iter().map(|(split, t)| format!("{split} {} {}", t.environment, t.trajectory)).collect();
    assert_eq!(ids, ["train a 1", "validation a 1.last"]);
    assert_eq!(
        (trajectories[0].1.times.as_slice(), trajectories[1].1.times.as_slice()),
        (&[0.0, 1.0][..], &[2.0, 3.0][..])
    );
}

#[test]
fn bad_files_among_many() {
    let archive = in_files()
        .with("b-1.csv", "t,level\n0,1\n")
        .with("d-1.csv", "t,level,flow\n0,x,1\n1,2,2\n")
        .with("d-2.csv", "");
    insta::assert_snapshot!("many_files", archive.report());
    insta::assert_snapshot!("no_file_fits", in_files().change(|s| s.table.file = one("{environment}_*.dat")).report());
    let archive = Archive::new().change(|settings| {
        settings.table.file = Names(vec!["{environment}/{environment}.csv".into(), "../x*.csv".into()]);
        settings.table.decimal = ",".into();
        settings.table.comment = Some("ab".into());
        settings.table.time_zone = Some("Paris".into());
        settings.table.time_format = Some("D.M.Y".into());
        settings.table.time_column_unit = Some("m".into());
        settings.table.split_gap = Some(0.0);
        settings.channels[0].column_unit = Some("s".into());
        settings.splits.validation.last = Some(2.0);
    });
    let problems: Vec<String> = archive.settings.validate().iter().map(Problem::to_string).collect();
    insta::assert_snapshot!("settings_of_forms", problems.join("\n"));
}

#[test]
fn units_in_headers_are_converted() {
    let plain = Archive::new().import().1;
    let archive = Archive::new().replace("t,level,flow", "t (min),level [cm],flow (l/s)").change(|settings| {
        settings.time_unit = "s".into();
        settings.channels[1].unit = "m3 s-1".into();
    });
    let converted = archive.import().1;
    for ((_, plain), (_, converted)) in plain.iter().zip(&converted) {
        for (before, after) in plain.times.iter().zip(&converted.times) {
            approx::assert_relative_eq!(before * 60.0, *after, max_relative = 1e-15);
        }
        for (before, after) in plain.states.chunks(2).zip(converted.states.chunks(2)) {
            approx::assert_relative_eq!(before[0] / 100.0, after[0], max_relative = 1e-15);
            approx::assert_relative_eq!(before[1] / 1000.0, after[1], max_relative = 1e-15);
        }
    }
    let stated = Archive::new()
        .replace("flow", "flow (m³/s)")
        .change(|settings| settings.channels[0].column_unit = Some("mm".into()));
    assert_eq!(stated.import().1[0].1.states, [0.001, 0.5, 0.0015, 0.4, 0.0025, 0.3]);
    insta::assert_snapshot!("units_differ", Archive::new().replace("t,level", "t (m),level (s)").report());
    let unknown = Archive::new().replace("flow", "flow (buckets per hour)");
    insta::assert_snapshot!("unit_unknown", unknown.report());
    let taken = unknown.change(|settings| settings.channels[1].column_unit = Some(settings.channels[1].unit.clone()));
    insta::assert_snapshot!("notes_unit_unknown", taken.import().2.join("\n"));
    insta::assert_snapshot!("columns_alike", Archive::new().replace("level,flow", "level (m),level (cm)").report());
}

/// A unit in the name of a channel is taken as one in the header of a wide table is.
#[test]
fn units_in_the_names_of_a_long_table_are_converted() {
    let table = LONG.replace(",level,", ",level (m),");
    let archive = || {
        let named = |settings: &mut Settings| settings.channels[0].column = "level (m)".into();
        Archive::long().with("tanks.csv", table.clone()).change(named)
    };
    let levels = |archive: Archive| -> Vec<f64> { archive.import().1[0].1.states.iter().step_by(2).copied().collect() };
    let in_unit = |unit: &str, stated: Option<&str>| {
        archive().change(|settings| {
            settings.channels[0].unit = unit.into();
            settings.channels[0].column_unit = stated.map(str::to_owned);
        })
    };
    let plain = levels(Archive::long());
    let millimetres: Vec<f64> = plain.iter().map(|level| level * 1000.0).collect();
    assert_eq!(levels(archive()), plain);
    assert_eq!(levels(in_unit("mm", None)), millimetres);
    assert_eq!(levels(in_unit("mm", Some("m"))), millimetres);
    let named = |unit: &str| in_unit("mm", None).with("tanks.csv", table.replace("(m)", unit));
    let named = |unit: &str, stated: Option<&str>| {
        named(unit).change(|settings| {
            settings.channels[0].column = format!("level {unit}");
            settings.channels[0].column_unit = stated.map(str::to_owned);
        })
    };
    assert_eq!(levels(named("[buckets]", Some("mm"))), plain);
    let headed = |archive: Archive| {
        let value = |settings: &mut Settings| settings.channels[1].unit = "mm".into();
        archive.replace("what,value", "what,value (cm)").change(value)
    };
    let reports =
        [in_unit("s", None), in_unit("mm", Some("cm")), named("[buckets]", None), headed(in_unit("mm", None))];
    let reports: Vec<String> = reports.iter().map(Archive::report).collect();
    insta::assert_snapshot!("units_in_names", reports.join("\n"));
}

#[test]
fn decimal_commas_comments_and_compression_change_nothing() {
    let plain = Archive::new().import().1;
    let commas = TANKS.replace(',', ";").replace('.', ",").replace("a;1;1,0", "# 1,5;;\na;1;1,0");
    let commas = || {
        Archive::new().with("tanks.csv", commas.clone()).change(|settings| {
            settings.table.delimiter = ";".into();
            settings.table.decimal = ",".into();
            settings.table.comment = Some("#".into());
        })
    };
    assert_eq!(commas().import().1, plain);
    insta::assert_snapshot!("decimal_point", commas().replace("2,5", "1.002,5").report());

    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(TANKS.as_bytes()).unwrap();
    let zstd = zstd::encode_all(TANKS.as_bytes(), 1).unwrap();
    for compressed in [gzip.finish().unwrap(), zstd] {
        assert_eq!(Archive::new().with("tanks.csv", &compressed).import().1, plain);
        let cut = &compressed[..compressed.len() - 9];
        let problems = Archive::new().with("tanks.csv", cut).check();
        assert!(
            problems.iter().any(|problem| problem.kind == paramill::problems::Kind::UnreadableFile),
            "{problems:?}"
        );
    }
}

#[test]
fn rows_are_chosen_by_conditions() {
    let table = TANKS.lines().map(|line| format!("{line},{}", if line.starts_with("tank,") { "EVID" } else { "0" }));
    let table = table.collect::<Vec<_>>().join("\n") + "\na,1,0.5,7,7,101\n";
    let archive = || Archive::new().with("tanks.csv", table.clone());
    insta::assert_snapshot!("event_rows", archive().report());
    let rows = toml::from_str("EVID = 0\ntank = { not = ['b'] }\nrun = [1, 2.0, '3']").unwrap();
    let archive = archive().change(|settings| {
        settings.table.rows = rows;
        settings.side_table.as_mut().unwrap().rename.remove("B");
    });
    let (_, trajectories, notes) = archive.import();
    let ids: Vec<_> = trajectories.iter().map(|(_, t)| t.environment.as_str()).collect();
    assert_eq!(ids, ["a", "a", "c", "c"]);
    assert!(notes.contains(&"5 rows left out, as `rows` asks".to_owned()), "{notes:?}");
    let none = Archive::new().change(|settings| settings.table.rows = toml::from_str("tank = 'z'").unwrap());
    insta::assert_snapshot!("no_row_left", none.report());
    let side = Archive::new().with("sizes.txt", format!("{SIZES}C 1 9\n"));
    let side =
        side.change(|settings| settings.side_table.as_mut().unwrap().rows = toml::from_str("height.not = 9").unwrap());
    assert_eq!(side.import().1, Archive::new().import().1);
}

#[test]
fn ignored_channels_are_not_imported() {
    let archive = Archive::new().change(|settings| settings.channels[0].role = import::Role::Ignore);
    let (manifest, trajectories, _) = archive.import();
    assert_eq!(manifest.channels.len(), 1);
    assert_eq!(trajectories[0].1.states, [0.5, 0.4, 0.3]);
    let long = Archive::long().change(|settings| settings.channels[1].role = import::Role::Ignore);
    assert_eq!(long.import().1[0].1.states, [1.0, 2.0]);
}

/// A PEtab problem: its measurements are a long table, its conditions the side table.
#[test]
fn a_petab_problem_is_imported_as_it_is_guessed() {
    let archive = Archive::new()
        .with(
            "problem.yaml",
            "format_version: 1\nproblems:\n- condition_files:\n  - conditions.tsv\n\
             \x20 measurement_files: [measurements.tsv]\n  sbml_files:\n  - m.xml\n",
        )
        .with("conditions.tsv", "conditionId\tconditionName\tdose\nc0\tlow\t1\nc1\thigh\t10\n")
        .with(
            "measurements.tsv",
            "observableId\tsimulationConditionId\tmeasurement\ttime\nA\tc0\t1.5\t0\nA\tc0\t1.25\t1\nA\tc0\t1\t2\nA\tc0\t0.5\t3\n\
             B\tc0\t0\t1\nB\tc0\t1\t3\nA\tc1\t15\t0\nA\tc1\t10\t1\nB\tc1\t1\t1\n",
        );
    let mapping = import::draft(&archive.root.path().join("archive/problem.yaml")).unwrap();
    let document: toml::Table = toml::from_str(&mapping).unwrap();
    let archive = archive.change(|settings| {
        *settings = document["import"].clone().try_into().unwrap();
        settings.parameters = vec![toml::from_str("name = 'dose'\nunit = '1'\nexpression = 'dose'").unwrap()];
    });
    insta::assert_snapshot!("guess_petab", mapping.replace(&archive.root.path().display().to_string(), "[root]"));
    let trajectories = archive.import().1;
    let first = &trajectories[0].1;
    assert_eq!((first.environment.as_str(), first.parameters.as_slice()), ("c0", &[Some(1.0)][..]));
    assert_eq!(bits(&first.states), bits(&[1.5, f64::NAN, 1.25, 0.0]));
    assert_eq!(bits(&trajectories[1].1.states), bits(&[15.0, f64::NAN, 10.0, 1.0]));
}

/// What a PEtab problem says and an import does not read is refused, or said.
#[test]
fn petab_problems_are_not_read_in_part() {
    let measurements = "observableId\tpreequilibrationConditionId\tsimulationConditionId\tmeasurement\ttime\tobservableParameters\n\
                        A\t\tc0\t1.5\t0\tscale\nA\t\tc0\t1.25\t1\tscale\nA\tc0\tc1\t1\t0\t\nA\tc0\tc1\t0.5\t3\t\n";
    let settings = "dataset = 'p'\ndirectory = 'archive'\ntime_unit = 's'\nsplits.adapt = ['*']\n\
                    channels = [{ column = 'A', name = 'a', unit = '1' }]\n\
                    [table]\nfile = 'm.tsv'\ndelimiter = \"\\t\"\nlayout = 'long'\nchannel = 'observableId'\nvalue = 'measurement'\n\
                    environment = 'simulationConditionId'\ntime = 'time'\n";
    let archive = |rows: &str| {
        let settings = format!("{settings}{rows}");
        Archive::new().with("m.tsv", measurements).change(|all| *all = toml::from_str(&settings).unwrap())
    };
    insta::assert_snapshot!("petab_preequilibration", archive("").report());
    let (_, trajectories, notes) = archive("rows.preequilibrationConditionId = ''").import();
    assert_eq!(trajectories.len(), 1);
    insta::assert_snapshot!("notes_petab_parameters", notes.join("\n"));
    let (_, trajectories, _) = archive("rows.preequilibrationConditionId = ['', 'c0']").import();
    assert_eq!(trajectories.len(), 2);

    let problem = |text: &str| {
        let archive = Archive::new().with("problem.yaml", text);
        let refused = import::draft(&archive.root.path().join("archive/problem.yaml")).unwrap_err();
        refused[0].to_string().replace(&archive.root.path().display().to_string(), "[root]")
    };
    let refused = [
        problem("format_version: 2.0.0\nmeasurement_files: [m.tsv]\n"),
        problem("format_version: 1\nproblems:\n- measurement_files: [m.tsv, n.tsv]\n"),
        problem("format_version: 1\nproblems:\n- measurement_files: [m.tsv]\n- measurement_files: [n.tsv]\n"),
    ];
    insta::assert_snapshot!("petab_versions", refused.join("\n"));
}

/// What is guessed of a file either passes or says what is to be filled in; what cannot be guessed says why.
#[test]
fn short_and_strange_files_are_guessed_or_named() {
    let archive = Archive::new();
    let guess = |content: &str| {
        let file = archive.root.path().join("archive/short.csv");
        fs::write(&file, content).unwrap();
        import::draft(&file)
    };
    let good = [
        "t,x\n0,1\n1,2\n",
        "id,t,x\na,0,1\na,1,2\nb,0,3\nb,1,4\n",
        "id,run,t,x\na,1,0,1\na,1,1,2\na,1,2,2.5\na,1,3,2\nb,1,0,3\nb,1,1,4\nb,1,2,4.5\nb,1,3,4\n",
        "t,x\n0,1\n1,NA\n2,3\n3,n/a\n4,5\n5,6\n6,7\n7,8\n",
    ];
    for content in good {
        let mapping: toml::Table = toml::from_str(&guess(content).unwrap()).unwrap();
        let settings: Settings = mapping["import"].clone().try_into().unwrap();
        assert_eq!(import::check(&settings, Path::new("")), [], "{content}");
    }
    let rows =
        ["\"a\nb\u{7f}\"", "c"].map(|id| (0..8).map(|t| format!("{id},{t},{}\n", t * t % 5)).collect::<String>());
    let lines = guess(&format!("id,t,x\n{}", rows.concat())).unwrap();
    assert!(lines.contains(r#"such as ["a\nb\u007f"]"#) && toml::from_str::<toml::Table>(&lines).is_ok(), "{lines}");
    let mapping = guess("time (fortnight),x\n0,1\n1,2\n2,4\n3,1\n4,0\n").unwrap();
    let comment = mapping.lines().nth(1).unwrap();
    assert!(comment.starts_with('#') && comment.contains("fortnight"), "{mapping}");
    let bad = [
        "t,x\n",
        "t,x\n0,1\n",
        "t,x\n0,5\n1,5\n2,5\n",
        "x\n1\n2\n3\n",
        "a;b\nfoo;bar\nbar;baz\n",
        "t,x\n0,1\n1,a\n2,b\n",
    ];
    let causes: Vec<String> = bad.iter().map(|content| guess(content).unwrap_err()[0].to_string()).collect();
    let root = archive.root.path().display().to_string();
    insta::assert_snapshot!("guess_causes", causes.join("\n").replace(&root, "[root]"));
}
