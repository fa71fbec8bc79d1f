// SPDX-License-Identifier: Apache-2.0
//! Encrypted connections, with and without certificates of clients.

use crate::support;

use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use slotwise_p4runtime::proto::p4::v1::CapabilitiesRequest;
use slotwise_p4runtime::proto::p4::v1::p4_runtime_client::P4RuntimeClient;
use slotwise_p4runtime::{Server, StartError, Tls};
use support::*;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Identity};

struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new() -> Authority {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Authority(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    fn pem(&self) -> String {
        self.0.pem()
    }

    /// Certificate and key.
    fn issue(&self) -> (String, String) {
        let key = KeyPair::generate().unwrap();
        let certificate = CertificateParams::new(vec!["switch.test".to_owned()])
            .unwrap()
            .signed_by(&key, &self.0)
            .unwrap();
        (certificate.pem(), key.serialize_pem())
    }
}

fn start(tls: Tls) -> Result<Server, StartError> {
    let config = slotwise_p4runtime::ServerConfig {
        tls: Some(tls),
        ..server_config(false)
    };
    Ok(Server::start(config, Arc::new(|| {}))?.0)
}

async fn ask(server: &Server, authority: &Authority, identity: Option<(String, String)>) -> Result<(), String> {
    let mut tls = ClientTlsConfig::new()
        .ca_certificate(Certificate::from_pem(authority.pem()))
        .domain_name("switch.test");
    if let Some((certificate, key)) = identity {
        tls = tls.identity(Identity::from_pem(certificate, key));
    }
    let endpoint = Channel::from_shared(format!("https://{}", server.address()))
        .unwrap()
        .tls_config(tls)
        .unwrap();
    let channel = endpoint.connect().await.map_err(|error| error.to_string())?;
    let answer = P4RuntimeClient::new(channel)
        .capabilities(CapabilitiesRequest::default())
        .await;
    answer.map(drop).map_err(|status| status.to_string())
}

#[tokio::test]
async fn the_server_shows_its_certificate() {
    let authority = Authority::new();
    let (certificate, key) = authority.issue();
    let tls = Tls {
        certificate_pem: certificate.into(),
        key_pem: key.into(),
        client_authorities_pem: None,
    };
    let server = start(tls).unwrap();
    ask(&server, &authority, None).await.unwrap();
    assert!(
        ask(&server, &Authority::new(), None).await.is_err(),
        "signed by somebody else"
    );
    assert!(
        P4RuntimeClient::connect(format!("http://{}", server.address()))
            .await
            .is_err()
            || {
                let mut plain = P4RuntimeClient::connect(format!("http://{}", server.address()))
                    .await
                    .unwrap();
                plain.capabilities(CapabilitiesRequest::default()).await.is_err()
            }
    );
}

#[tokio::test]
async fn mutual_tls_lets_in_only_who_is_signed() {
    let authority = Authority::new();
    let (certificate, key) = authority.issue();
    let clients = Authority::new();
    let server = start(Tls {
        certificate_pem: certificate.into(),
        key_pem: key.into(),
        client_authorities_pem: Some(clients.pem().into()),
    });
    let server = server.unwrap();
    ask(&server, &authority, Some(clients.issue())).await.unwrap();
    assert!(
        ask(&server, &authority, Some(authority.issue())).await.is_err(),
        "signed by somebody else"
    );
    assert!(ask(&server, &authority, None).await.is_err(), "no certificate");
}

#[test]
fn what_is_no_certificate_is_refused_at_start() {
    let nonsense = b"nonsense".to_vec();
    let tls = Tls {
        certificate_pem: nonsense.clone(),
        key_pem: nonsense,
        client_authorities_pem: None,
    };
    assert!(matches!(start(tls).map(drop), Err(StartError::Tls(_))));
}
