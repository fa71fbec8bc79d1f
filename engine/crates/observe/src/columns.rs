// SPDX-License-Identifier: Apache-2.0
//! Tables as Parquet: a dictionary of names, numbers as 32-bit floats (times as 64-bit), Snappy.

use std::io::Write;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::{Compression, LogicalType, Repetition, Type as PhysicalType};
use parquet::column::reader::ColumnReader;
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, FloatType};
use parquet::errors::{ParquetError, Result};
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{Type, TypePtr};

use crate::record::Table;

/// Larger files are not ours.
const MAX_ROWS: usize = 100_000_000;

fn schema(table: &Table) -> Result<TypePtr> {
    let mut fields = vec![Arc::new(
        Type::primitive_type_builder(table.declaration.key, PhysicalType::BYTE_ARRAY)
            .with_repetition(Repetition::REQUIRED)
            .with_logical_type(Some(LogicalType::String))
            .build()?,
    )];
    for column in table.declaration.columns {
        let physical = match column.is_exact {
            true => PhysicalType::DOUBLE,
            false => PhysicalType::FLOAT,
        };
        let field = Type::primitive_type_builder(column.name, physical).with_repetition(Repetition::REQUIRED);
        fields.push(Arc::new(field.build()?));
    }
    Ok(Arc::new(
        Type::group_type_builder("slotwise").with_fields(fields).build()?,
    ))
}

/// Writes a table. The same table gives the same bytes.
///
/// # Errors
/// Errors of `out`.
pub fn write(table: &Table, out: impl Write + Send) -> Result<()> {
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_created_by("slotwise".to_owned())
        .build();
    let mut file = SerializedFileWriter::new(out, schema(table)?, Arc::new(properties))?;
    let mut group = file.next_row_group()?;
    let mut index = 0;
    while let Some(mut column) = group.next_column()? {
        match index {
            0 => {
                let names: Vec<ByteArray> = table.names.iter().map(|name| name.as_str().into()).collect();
                column.typed::<ByteArrayType>().write_batch(&names, None, None)?;
            }
            _ if table.declaration.columns[index - 1].is_exact => {
                column
                    .typed::<DoubleType>()
                    .write_batch(&table.numbers[index - 1], None, None)?;
            }
            _ => {
                let numbers: Vec<f32> = table.numbers[index - 1].iter().map(|number| *number as f32).collect();
                column.typed::<FloatType>().write_batch(&numbers, None, None)?;
            }
        }
        column.close()?;
        index += 1;
    }
    group.close()?;
    file.close()?;
    Ok(())
}

/// Reads what [`write`] wrote into an empty table of the same columns.
///
/// # Errors
/// When the bytes are no Parquet or have other columns.
pub fn read(bytes: Vec<u8>, table: Table) -> Result<Table> {
    // The library panics on some damaged pages, for example without their dictionary.
    match panic::catch_unwind(AssertUnwindSafe(|| decode(bytes, table))) {
        Ok(table) => table,
        Err(_) => Err(ParquetError::General("damaged page; expected a complete file".into())),
    }
}

fn decode(bytes: Vec<u8>, mut table: Table) -> Result<Table> {
    let file = SerializedFileReader::new(Bytes::from(bytes))?;
    let wanted = schema(&table)?;
    if file.metadata().file_metadata().schema_descr().root_schema() != wanted.as_ref() {
        let columns: Vec<&str> = table.columns().collect();
        let expected = format!(
            "unexpected columns; expected {}, {}",
            table.declaration.key,
            columns.join(", ")
        );
        return Err(ParquetError::General(expected));
    }
    let mut all = 0usize;
    for group in 0..file.num_row_groups() {
        let group = file.get_row_group(group)?;
        let rows = usize::try_from(group.metadata().num_rows()).unwrap_or(usize::MAX);
        all = all.saturating_add(rows);
        if all > MAX_ROWS {
            return Err(ParquetError::General(format!(
                "too many rows; expected at most {MAX_ROWS}, got {all}"
            )));
        }
        for column in 0..group.num_columns() {
            match group.get_column_reader(column)? {
                ColumnReader::ByteArrayColumnReader(mut reader) => {
                    let mut names = Vec::new();
                    reader.read_records(rows, None, None, &mut names)?;
                    for name in names {
                        table.names.push(name.as_utf8()?.to_owned());
                    }
                }
                ColumnReader::DoubleColumnReader(mut reader) => {
                    reader.read_records(rows, None, None, &mut table.numbers[column - 1])?;
                }
                ColumnReader::FloatColumnReader(mut reader) => {
                    let mut numbers = Vec::new();
                    reader.read_records(rows, None, None, &mut numbers)?;
                    table.numbers[column - 1].extend(numbers.into_iter().map(f64::from));
                }
                _ => return Err(ParquetError::General("column of an unexpected type".into())),
            }
        }
    }
    if table.names.len() != all || table.numbers.iter().any(|column| column.len() != all) {
        let reason = format!("columns of different lengths; expected {all} rows in each");
        return Err(ParquetError::General(reason));
    }
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::TableName;

    fn table() -> Table {
        let mut table = TableName::Flows.empty();
        for row in 0..1000u32 {
            let number = f64::from(row);
            let name = format!("f.{}", row % 7);
            table.push(&name, [number / 10.0, number, 0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        }
        table
    }

    #[test]
    fn what_is_written_reads_alike_and_writes_the_same_bytes() {
        let (mut one, mut other) = (Vec::new(), Vec::new());
        write(&table(), &mut one).unwrap();
        write(&table(), &mut other).unwrap();
        assert_eq!(one, other);
        assert_eq!(read(one, TableName::Flows.empty()).unwrap(), table());
    }

    #[test]
    fn damaged_or_foreign_files_are_errors() {
        let mut bytes = Vec::new();
        write(&table(), &mut bytes).unwrap();
        assert!(read(bytes.clone(), TableName::Links.empty()).is_err());
        for cut in [0, 4, 100, bytes.len() - 1] {
            assert!(read(bytes[..cut].to_vec(), TableName::Flows.empty()).is_err());
        }
    }
}
