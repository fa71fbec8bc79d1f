// SPDX-License-Identifier: Apache-2.0
//! P4Data: between P4Runtime's tree of values and the engine's flat fields.

use std::slice::Iter;

use slotwise_p4::Bits;

use crate::bits;
use crate::error::ApiError;
use crate::proto::p4::config::v1::{
    P4DataTypeSpec, P4TypeInfo, p4_bitstring_like_type_spec::TypeSpec as BitKind, p4_data_type_spec::TypeSpec,
    p4_new_type_spec, p4_new_type_translation::SdnType,
};
use crate::proto::p4::v1::{P4Data, P4StructLike, p4_data::Data};

/// Deepest nesting of types that we follow.
const MAX_DEPTH: usize = 16;
/// Most parts of a value: a few types that name each other several times could make any number.
const MAX_PARTS: usize = 4096;

/// A type whose values are a fixed number of fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Shape {
    Bits {
        width: u32,
    },
    Signed {
        width: u32,
    },
    Bool,
    /// A string for controllers: the number in decimal.
    Text,
    Struct(Vec<Shape>),
    Tuple(Vec<Shape>),
}

impl Shape {
    /// The shape of a type; `None` if it is one that we do not serve (headers, enums, varbit ...).
    pub fn of(spec: Option<&P4DataTypeSpec>, types: Option<&P4TypeInfo>) -> Option<Shape> {
        Shape::within(spec?, types, MAX_DEPTH, &mut { MAX_PARTS })
    }

    fn within(spec: &P4DataTypeSpec, types: Option<&P4TypeInfo>, depth: usize, parts: &mut usize) -> Option<Shape> {
        let depth = depth.checked_sub(1)?;
        *parts = parts.checked_sub(1)?;
        let width = |width: i32, least: u32| u32::try_from(width).ok().filter(|width| (least..=2048).contains(width));
        match spec.type_spec.as_ref()? {
            TypeSpec::Bitstring(bitstring) => match bitstring.type_spec.as_ref()? {
                BitKind::Bit(bit) => Some(Shape::Bits {
                    width: width(bit.bitwidth, 0)?,
                }),
                BitKind::Int(int) => Some(Shape::Signed {
                    width: width(int.bitwidth, 1)?,
                }),
                BitKind::Varbit(_) => None,
            },
            TypeSpec::Bool(_) => Some(Shape::Bool),
            TypeSpec::Tuple(tuple) => {
                let members = tuple.members.iter();
                let members = members.map(|member| Shape::within(member, types, depth, parts));
                Some(Shape::Tuple(members.collect::<Option<_>>()?))
            }
            TypeSpec::Struct(named) => {
                let members = types?.structs.get(&named.name)?.members.iter();
                let members = members.map(|member| Shape::within(member.type_spec.as_ref()?, types, depth, parts));
                Some(Shape::Struct(members.collect::<Option<_>>()?))
            }
            TypeSpec::NewType(named) => match types?.new_types.get(&named.name)?.representation.as_ref()? {
                p4_new_type_spec::Representation::OriginalType(spec) => Shape::within(spec, types, depth, parts),
                // The server translates nothing: the number is the data plane's, written with more bits or fewer.
                p4_new_type_spec::Representation::TranslatedType(translation) => match translation.sdn_type.as_ref()? {
                    SdnType::SdnBitwidth(bitwidth) => Some(Shape::Bits {
                        width: width(*bitwidth, 1)?,
                    }),
                    SdnType::SdnString(_) => Some(Shape::Text),
                },
            },
            _ => None,
        }
    }

    /// The value that the next of `fields` make; `None` if they are too few.
    pub fn encode(&self, fields: &mut Iter<'_, Bits>) -> Option<P4Data> {
        let data = match self {
            Shape::Bits { .. } => Data::Bitstring(bits::canonical(fields.next()?)),
            Shape::Signed { width } => Data::Bitstring(bits::canonical_signed(fields.next()?, *width)),
            Shape::Text => Data::Bitstring(bits::decimal(fields.next()?)),
            Shape::Bool => Data::Bool(fields.next()?.iter().any(|byte| *byte != 0)),
            Shape::Struct(members) => Data::Struct(encode_all(members, fields)?),
            Shape::Tuple(members) => Data::Tuple(encode_all(members, fields)?),
        };
        Some(P4Data { data: Some(data) })
    }

    /// The one field of a value that has no parts.
    pub fn parse_scalar(&self, data: &P4Data) -> Result<Bits, ApiError> {
        match (self, &data.data) {
            (Shape::Bits { width }, Some(Data::Bitstring(value))) => bits::parse(value, *width),
            (Shape::Signed { width }, Some(Data::Bitstring(value))) => bits::parse_signed(value, *width),
            (Shape::Text, Some(Data::Bitstring(value))) => bits::parse_decimal(value),
            (Shape::Bool, Some(Data::Bool(value))) => Ok(vec![u8::from(*value)]),
            _ => Err(ApiError::invalid(format!(
                "data type mismatch; expected {self:?} as in P4Info"
            ))),
        }
    }
}

fn encode_all(members: &[Shape], fields: &mut Iter<'_, Bits>) -> Option<P4StructLike> {
    let members = members.iter().map(|member| member.encode(fields));
    Some(P4StructLike {
        members: members.collect::<Option<_>>()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::p4::config::v1::p4_new_type_translation::SdnString;
    use crate::proto::p4::config::v1::{P4NamedType, P4NewTypeSpec, P4NewTypeTranslation};

    #[test]
    fn nested_structs_take_the_fields_in_order() {
        let shape = Shape::Struct(vec![
            Shape::Bits { width: 48 },
            Shape::Tuple(vec![Shape::Bool, Shape::Signed { width: 8 }]),
        ]);
        let fields = [vec![0, 0, 7], vec![1], vec![0xfe]];
        let data = shape.encode(&mut fields.iter()).unwrap();
        let Some(Data::Struct(outer)) = data.data else {
            panic!("expected a struct")
        };
        assert_eq!(outer.members[0].data, Some(Data::Bitstring(vec![7])));
        let Some(Data::Tuple(inner)) = &outer.members[1].data else {
            panic!("expected a tuple")
        };
        assert_eq!(inner.members[0].data, Some(Data::Bool(true)));
        assert_eq!(inner.members[1].data, Some(Data::Bitstring(vec![0xfe])));
        assert_eq!(shape.encode(&mut fields[..2].iter()), None);
    }

    #[test]
    fn translated_types_are_what_they_are_for_controllers() {
        let of = |sdn_type| {
            let translation = P4NewTypeTranslation {
                uri: "example/port_t".to_owned(),
                sdn_type: Some(sdn_type),
            };
            let new_type = P4NewTypeSpec {
                representation: Some(p4_new_type_spec::Representation::TranslatedType(translation)),
                ..P4NewTypeSpec::default()
            };
            let types = P4TypeInfo {
                new_types: [("port_t".to_owned(), new_type)].into(),
                ..P4TypeInfo::default()
            };
            let named = P4NamedType {
                name: "port_t".to_owned(),
            };
            let spec = P4DataTypeSpec {
                type_spec: Some(TypeSpec::NewType(named)),
            };
            Shape::of(Some(&spec), Some(&types))
        };
        assert_eq!(of(SdnType::SdnBitwidth(32)), Some(Shape::Bits { width: 32 }));
        assert_eq!(of(SdnType::SdnBitwidth(0)), None);
        let text = of(SdnType::SdnString(SdnString {})).unwrap();
        let written = text.encode(&mut [vec![1, 0]].iter()).unwrap();
        assert_eq!(written.data, Some(Data::Bitstring(b"256".to_vec())));
        assert_eq!(text.parse_scalar(&written).unwrap(), [1, 0]);
    }

    #[test]
    fn types_that_multiply_are_not_followed() {
        use crate::proto::p4::config::v1::{P4StructTypeSpec, p4_struct_type_spec::Member};
        let named = |level: usize| P4DataTypeSpec {
            type_spec: Some(TypeSpec::Struct(P4NamedType {
                name: format!("level{level}"),
            })),
        };
        let of_two = |level: usize| {
            let member = |name: &str| Member {
                name: name.to_owned(),
                type_spec: Some(if level == 0 {
                    let bit = crate::proto::p4::config::v1::P4BitTypeSpec { bitwidth: 8 };
                    let spec = BitKind::Bit(bit);
                    P4DataTypeSpec {
                        type_spec: Some(TypeSpec::Bitstring(
                            crate::proto::p4::config::v1::P4BitstringLikeTypeSpec {
                                type_spec: Some(spec),
                                ..Default::default()
                            },
                        )),
                    }
                } else {
                    named(level - 1)
                }),
            };
            let members = vec![member("a"), member("b")];
            (
                format!("level{level}"),
                P4StructTypeSpec {
                    members,
                    ..Default::default()
                },
            )
        };
        let types = P4TypeInfo {
            structs: (0..MAX_DEPTH).map(of_two).collect(),
            ..P4TypeInfo::default()
        };
        assert!(Shape::of(Some(&named(9)), Some(&types)).is_some(), "2^10 fields");
        assert_eq!(Shape::of(Some(&named(12)), Some(&types)), None, "2^13 fields");
    }

    #[test]
    fn scalars_are_checked_against_their_type() {
        let bits = |bytes: &[u8]| P4Data {
            data: Some(Data::Bitstring(bytes.to_vec())),
        };
        assert_eq!(
            Shape::Bits { width: 9 }.parse_scalar(&bits(&[0, 1, 2])).unwrap(),
            [1, 2]
        );
        assert!(Shape::Bits { width: 9 }.parse_scalar(&bits(&[4, 0])).is_err());
        assert!(Shape::Bool.parse_scalar(&bits(&[1])).is_err());
        assert!(Shape::Bits { width: 9 }.parse_scalar(&P4Data::default()).is_err());
    }
}
