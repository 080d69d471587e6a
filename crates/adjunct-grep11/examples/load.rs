//! Signatures with P-256 through a server, as many as several tasks get: `load ADDRESS:PORT [TASKS [SECONDS [CONNECTIONS]]]`. It prints the number a second and how
//! long one takes.

use adjunct_grep11::pb::attribute_value::OneAttr;
use adjunct_grep11::pb::crypto_client::CryptoClient;
use adjunct_grep11::pb::{AttributeValue, GenerateKeyPairRequest, Mechanism, SignSingleRequest};
use std::error::Error;
use std::time::{Duration, Instant};
use tonic::transport::Endpoint;

fn attribute(value: OneAttr) -> AttributeValue {
    AttributeValue { one_attr: Some(value) }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let address = words.first().ok_or("load ADDRESS:PORT [TASKS [SECONDS [CONNECTIONS]]]")?;
    let number = |place: usize, usual: u64| words.get(place).map_or(Ok(usual), |word| word.parse());
    let (tasks, seconds, connections) = (number(1, 32)?, number(2, 5)?, number(3, 2)?);
    let endpoint = Endpoint::new(format!("http://{address}"))?;
    let mut clients = Vec::new();
    for _ in 0..connections.max(1) {
        clients.push(CryptoClient::new(endpoint.connect().await?));
    }
    let oid = vec![6, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7];
    let request = GenerateKeyPairRequest {
        mech: Some(Mechanism { mechanism: 0x1040, parameter: None }),
        priv_key_template: [(0x108, attribute(OneAttr::AttributeTf(true)))].into(),
        pub_key_template: [
            (0x10a, attribute(OneAttr::AttributeTf(true))),
            (0x180, attribute(OneAttr::AttributeB(oid))),
        ]
        .into(),
    };
    let pair = clients[0].generate_key_pair(request).await?.into_inner();
    let request = SignSingleRequest {
        mech: Some(Mechanism { mechanism: 0x1041, parameter: None }),
        data: vec![5; 32],
        priv_key: pair.priv_key,
    };
    let until = Instant::now() + Duration::from_secs(seconds);
    let running: Vec<_> = (0..tasks)
        .map(|task| {
            let (mut client, request) = (clients[task as usize % clients.len()].clone(), request.clone());
            tokio::spawn(async move {
                let mut took = Vec::new();
                while Instant::now() < until {
                    let began = Instant::now();
                    client.sign_single(request.clone()).await.map_err(|status| status.to_string())?;
                    took.push(began.elapsed());
                }
                Ok::<_, String>(took)
            })
        })
        .collect();
    let mut took = Vec::new();
    for one in running {
        took.extend(one.await??);
    }
    took.sort_unstable();
    let at = |part: f64| took[((took.len() - 1) as f64 * part) as usize].as_micros();
    println!(
        "{} signatures/s, {tasks} at a time; one takes p50 {} us, p99 {} us, at most {} us",
        took.len() as u64 / seconds.max(1),
        at(0.5),
        at(0.99),
        at(1.0)
    );
    Ok(())
}
