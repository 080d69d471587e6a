//! What the coprocessor can do, attributes of keys, sessions.

use super::{bytes, calls};
use crate::failure::Failure;
use crate::keys::{object, several, with};
use crate::pb::MechanismInfo;
use crate::template::{answered, question, template};
use adjunct_ep11_wire::attributes::Template;
use adjunct_ep11_wire::codes::rv;
use adjunct_ep11_wire::function::Function;

fn device() -> Failure {
    Failure::new(rv::DEVICE_ERROR, "")
}

fn words(bytes: &[u8]) -> impl Iterator<Item = u64> + '_ {
    bytes.as_chunks().0.iter().map(|word| u32::from_be_bytes(*word).into())
}

calls! {
    GetMechanismList GetMechanismListRequest -> GetMechanismListResponse |_call, engine| {
        let answer = engine.run(Function::GetMechanismList, &[])?;
        Ok(Reply { mechs: words(answer.result(0)?).collect() })
    };
    GetMechanismInfo GetMechanismInfoRequest -> GetMechanismInfoResponse |call, engine| {
        let number = u32::try_from(call.mech).map_err(|_| Failure::new(rv::MECHANISM_INVALID, ""))?;
        let answer = engine.run(Function::GetMechanismInfo, &[&number.to_be_bytes()])?;
        let all: Vec<u64> = words(answer.result(0)?).collect();
        let [min_key_size, max_key_size, flags] = all[..] else { return Err(device()) };
        Ok(Reply { mech_info: Some(MechanismInfo { min_key_size, max_key_size, flags }) })
    };
    GetAttributeValue GetAttributeValueRequest -> GetAttributeValueResponse |call, engine| {
        let types = || call.attributes.keys().chain(call.attributes_bytes.keys()).copied();
        let question = question(types())?;
        let key = Some(several(object(&call.object), Default::default()));
        let answer = with(engine, [&key], |[key]| engine.run(Function::GetAttributeValue, &[key, &question]))?;
        let answer = Template::parse(answer.result(0)?).ok_or_else(device)?;
        let mut reply = Reply::default();
        for of in types() {
            let (value, bytes) = answered(&answer, of)?;
            reply.attributes.insert(of, value);
            reply.attributes_bytes.insert(of, bytes);
        }
        Ok(reply)
    };
    SetAttributeValue SetAttributeValueRequest -> SetAttributeValueResponse |call, engine| {
        let template = template(&call.attributes, &[])?;
        let key = Some(several(object(&call.object), Default::default()));
        let answer = with(engine, [&key], |[key]| engine.run(Function::SetAttributeValue, &[key, &template]))?;
        Ok(Reply { object: bytes(&answer, 0)? })
    };
    Login LoginRequest -> LoginResponse |call, engine| {
        engine.sessions.room()?;
        let answer = engine.run(Function::Login, &[&call.pin, &call.storeid])?;
        let pinblob = bytes(&answer, 0)?;
        engine.sessions.add(&pinblob);
        Ok(Reply { pinblob })
    };
    Logout LogoutRequest -> LogoutResponse |_call, engine| {
        for session in engine.sessions.take() {
            engine.run(Function::Logout, &[&session])?;
        }
        Ok(Reply {})
    };
}
