// SPDX-License-Identifier: Apache-2.0
//! TLS for the server, mutual where clients have to show a certificate.

use std::fmt;

use tonic::transport::{Certificate, Identity, ServerTlsConfig};

/// Certificates in PEM.
#[derive(Clone)]
pub struct Tls {
    /// The server's certificate, with those between it and the root.
    pub certificate_pem: Vec<u8>,
    /// Its private key.
    pub key_pem: Vec<u8>,
    /// Clients have to show a certificate that these authorities have signed; `None`: they need none.
    pub client_authorities_pem: Option<Vec<u8>>,
}

impl fmt::Debug for Tls {
    /// Not the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls")
            .field("mutual", &self.client_authorities_pem.is_some())
            .finish_non_exhaustive()
    }
}

impl From<&Tls> for ServerTlsConfig {
    fn from(tls: &Tls) -> ServerTlsConfig {
        let identity = Identity::from_pem(&tls.certificate_pem, &tls.key_pem);
        let config = ServerTlsConfig::new().identity(identity);
        match &tls.client_authorities_pem {
            Some(authorities) => config.client_ca_root(Certificate::from_pem(authorities)),
            None => config,
        }
    }
}
