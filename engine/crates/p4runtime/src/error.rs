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

/// The status of a batch: OK, or UNKNOWN with one `p4.v1.Error` an element, in the batch's order.
pub(crate) fn batch_status<'a>(
    what: &str,
    errors: impl Iterator<Item = Option<&'a ApiError>> + Clone,
) -> Result<(), Status> {
    let Some(first) = errors.clone().flatten().next() else {
        return Ok(());
    };
    let failed = errors.clone().flatten().count();
    let message = format!("{failed} of {} {what} failed; first: {first}", errors.clone().count());
    let details = errors
        .map(|error| {
            let error = error.map_or_else(v1::Error::default, |error| v1::Error {
                canonical_code: error.code.into(),
                message: error.message.clone(),
                ..v1::Error::default()
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
