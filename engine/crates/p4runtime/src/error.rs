// SPDX-License-Identifier: Apache-2.0
//! Errors as P4Runtime reports them: one code and message, for a call or for one element of a batch.

use prost::Message;
use slotwise_p4::ConfigError;
use tonic::{Code, Status};

use crate::proto::{google::rpc, p4::v1};

/// Why a request, or one element of a batch, was refused. Nothing has changed then.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ApiError {
    /// Canonical gRPC code.
    pub code: Code,
    /// What was wrong, where, and what would be right.
    pub message: String,
}

macro_rules! constructors {
    ($($name:ident => $code:ident),* $(,)?) => {
        $(pub(crate) fn $name(message: impl Into<String>) -> ApiError {
            ApiError { code: Code::$code, message: message.into() }
        })*
    };
}

impl ApiError {
    constructors! {
        invalid => InvalidArgument,
        not_found => NotFound,
        already_exists => AlreadyExists,
        denied => PermissionDenied,
        exhausted => ResourceExhausted,
        failed_precondition => FailedPrecondition,
        out_of_range => OutOfRange,
        unimplemented => Unimplemented,
        unavailable => Unavailable,
        aborted => Aborted,
    }

    /// The same error, with the place in front of its message.
    pub(crate) fn at(mut self, place: impl std::fmt::Display) -> ApiError {
        self.message = format!("{place}: {}", self.message);
        self
    }
}

impl From<ConfigError> for ApiError {
    fn from(error: ConfigError) -> ApiError {
        match error {
            ConfigError::NotFound(message) => ApiError::not_found(message),
            ConfigError::TableFull { .. } => ApiError::exhausted(error.to_string()),
            ConfigError::AlreadyExists(message) => ApiError::already_exists(message),
            ConfigError::Invalid(message) => ApiError::invalid(message),
            ConfigError::Exhausted(message) => ApiError::exhausted(message),
            ConfigError::Denied(message) => ApiError::denied(message),
        }
    }
}

impl From<ApiError> for Status {
    fn from(error: ApiError) -> Status {
        Status::new(error.code, error.message)
    }
}

/// Bytes of messages in the details of a status, which goes in the head of an answer. Clients take some kilobytes.
const MAX_DETAIL_BYTES: usize = 4096;

/// The status of a batch: OK, or UNKNOWN with one `p4.v1.Error` an element, in the batch's order. The first have messages, all
/// have codes.
pub(crate) fn batch_status<'a>(
    what: &str,
    errors: impl Iterator<Item = Option<&'a ApiError>> + Clone,
) -> Result<(), Status> {
    let Some(first) = errors.clone().flatten().next() else {
        return Ok(());
    };
    let failed = errors.clone().flatten().count();
    let message = format!("{failed} of {} {what} failed; first: {first}", errors.clone().count());
    let mut left_bytes = MAX_DETAIL_BYTES;
    let details = errors
        .map(|error| {
            let error = error.map_or_else(v1::Error::default, |error| {
                left_bytes = left_bytes.saturating_sub(error.message.len());
                v1::Error {
                    canonical_code: error.code.into(),
                    message: if left_bytes > 0 {
                        error.message.clone()
                    } else {
                        String::new()
                    },
                    ..v1::Error::default()
                }
            });
            any("p4.v1.Error", &error)
        })
        .collect();
    let status = rpc::Status {
        code: Code::Unknown.into(),
        message: message.clone(),
        details,
    };
    Err(Status::with_details(
        Code::Unknown,
        message,
        status.encode_to_vec().into(),
    ))
}

/// Packs a message whose full name is `name`.
pub(crate) fn any(name: &str, message: &impl Message) -> prost_types::Any {
    prost_types::Any {
        type_url: format!("type.googleapis.com/{name}"),
        value: message.encode_to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_update_has_a_code_and_the_first_have_messages() {
        const COUNT: usize = 10_000;
        let errors: Vec<_> = (0..COUNT)
            .map(|number| (number % 2 == 0).then(|| ApiError::not_found("x".repeat(100))))
            .collect();
        let status = batch_status("updates", errors.iter().map(Option::as_ref)).unwrap_err();
        assert!(
            status.details().len() < COUNT * 48 + MAX_DETAIL_BYTES,
            "{}",
            status.details().len()
        );
        let details = rpc::Status::decode(status.details()).unwrap().details;
        let details: Vec<_> = details
            .iter()
            .map(|any| v1::Error::decode(&any.value[..]).unwrap())
            .collect();
        assert_eq!(details.len(), COUNT);
        for (number, error) in details.iter().enumerate() {
            let code = if number % 2 == 0 { Code::NotFound } else { Code::Ok };
            assert_eq!(error.canonical_code, i32::from(code));
        }
        let with_message = details.iter().filter(|error| !error.message.is_empty()).count();
        assert!(
            with_message > 10 && with_message * 100 <= MAX_DETAIL_BYTES,
            "{with_message}"
        );
    }
}
