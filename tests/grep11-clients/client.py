"""All calls of GREP11 by gRPC for Python: client.py ADDRESS, with what protoc made of our proto files beside it or in PYTHONPATH."""

import hashlib
import sys

import grpc
from grep11 import crypto_pb2 as pb
from grep11 import crypto_pb2_grpc, errors_pb2
from google.rpc import status_pb2

AES_KEY_GEN, AES_CBC_PAD, EC_KEY_PAIR_GEN, ECDSA, ECDSA_SHA256, ECDH1_DERIVE, SHA256 = (
    0x1080, 0x1085, 0x1040, 0x1041, 0x1044, 0x1050, 0x250)
CLASS, KEY_TYPE, ENCRYPT, DECRYPT, WRAP, UNWRAP, SIGN, VERIFY, DERIVE = (
    0, 0x100, 0x104, 0x105, 0x106, 0x107, 0x108, 0x10a, 0x10c)
VALUE_LEN, EXTRACTABLE, EC_PARAMS = 0x161, 0x162, 0x180
P256 = bytes.fromhex("06082a8648ce3d030107")
IV = bytes(16)
done = set()


def value(of):
    if isinstance(of, bool):
        return pb.AttributeValue(AttributeTF=of)
    if isinstance(of, int):
        return pb.AttributeValue(AttributeI=of)
    return pb.AttributeValue(AttributeB=of)


def template(all):
    return {kind: value(of) for kind, of in all.items()}


def mech(number, parameter=None):
    return pb.Mechanism(Mechanism=number, ParameterB=parameter) if parameter else pb.Mechanism(Mechanism=number)


class Client:
    def __init__(self, channel):
        self.stub = crypto_pb2_grpc.CryptoStub(channel)

    def __getattr__(self, name):
        def call(**fields):
            done.add(name)
            return getattr(self.stub, name)(getattr(pb, name + "Request")(**fields), timeout=60)
        return call

    def fails(self, name, code, **fields):
        try:
            getattr(self, name)(**fields)
        except grpc.RpcError as error:
            details = dict(error.trailing_metadata())["grpc-status-details-bin"]
            status = status_pb2.Status.FromString(details)
            found = errors_pb2.Grep11Error()
            assert status.details[0].Unpack(found), status
            assert found.Code == code, found
            return found
        raise AssertionError(name + " did not fail")


def main(address):
    c = Client(grpc.insecure_channel(address))
    assert len(c.GenerateRandom(Len=16).Rnd) == 16
    wanted = hashlib.sha256(b"abc").digest()
    assert c.DigestSingle(Mech=mech(SHA256), Data=b"abc").Digest == wanted
    state = c.DigestInit(Mech=mech(SHA256)).State
    assert c.Digest(State=state, Data=b"abc").Digest == wanted
    state = c.DigestUpdate(State=state, Data=b"abc").State
    assert c.DigestFinal(State=state).Digest == wanted
    aes = lambda: c.GenerateKey(Mech=mech(AES_KEY_GEN), Template=template({
        VALUE_LEN: 32, ENCRYPT: True, DECRYPT: True, WRAP: True, UNWRAP: True, EXTRACTABLE: True})).Key
    key, other = aes(), aes()
    try:
        c.DigestKey(State=state, Key=key)
    except grpc.RpcError:
        pass
    cbc, plain = mech(AES_CBC_PAD, bytes([1]) * 16), b"a text of some length"
    single = c.EncryptSingle(Mech=cbc, Plain=plain, Key=key).Ciphered
    state = c.EncryptInit(Mech=cbc, Key=key).State
    assert c.Encrypt(State=state, Plain=plain).Ciphered == single
    part = c.EncryptUpdate(State=state, Plain=plain)
    assert part.Ciphered + c.EncryptFinal(State=part.State).Ciphered == single
    assert c.DecryptSingle(Mech=cbc, Ciphered=single, Key=key).Plain == plain
    state = c.DecryptInit(Mech=cbc, Key=key).State
    assert c.Decrypt(State=state, Ciphered=single).Plain == plain
    part = c.DecryptUpdate(State=state, Ciphered=single)
    assert part.Plain + c.DecryptFinal(State=part.State).Plain == plain
    again = c.ReencryptSingle(DecMech=cbc, EncMech=cbc, Ciphered=single, DecKey=key, EncKey=other).Reciphered
    assert c.DecryptSingle(Mech=cbc, Ciphered=again, Key=other).Plain == plain
    pair = lambda private, public: c.GenerateKeyPair(
        Mech=mech(EC_KEY_PAIR_GEN), PrivKeyTemplate=template({private: True}),
        PubKeyTemplate=template({EC_PARAMS: P256, public: True}))
    keys = pair(SIGN, VERIFY)
    signature = c.SignSingle(Mech=mech(ECDSA), Data=wanted, PrivKey=keys.PrivKey).Signature
    c.VerifySingle(Mech=mech(ECDSA), Data=wanted, Signature=signature, PubKey=keys.PubKey)
    found = c.fails("VerifySingle", 0xc0, Mech=mech(ECDSA), Data=bytes(32), Signature=signature, PubKey=keys.PubKey)
    assert found.Detail.startswith("CKR_SIGNATURE_INVALID") and not found.Retry
    begin = c.SignInit(Mech=mech(ECDSA_SHA256), PrivKey=keys.PrivKey).State
    whole = c.Sign(State=begin, Data=b"abc").Signature
    state = c.SignUpdate(State=begin, Data=b"abc").State
    parts = c.SignFinal(State=state).Signature
    begin = c.VerifyInit(Mech=mech(ECDSA_SHA256), PubKey=keys.PubKey).State
    c.Verify(State=begin, Data=b"abc", Signature=parts)
    c.VerifyFinal(State=c.VerifyUpdate(State=begin, Data=b"abc").State, Signature=whole)
    wrapped = c.WrapKey(Mech=cbc, Key=key, KeK=other).Wrapped
    secret = template({CLASS: 4, KEY_TYPE: 0x1f, VALUE_LEN: 32, ENCRYPT: True, DECRYPT: True})
    unwrapped = c.UnwrapKey(Wrapped=wrapped, Mech=cbc, Template=secret, KeK=other).Unwrapped
    assert c.DecryptSingle(Mech=cbc, Ciphered=single, Key=unwrapped).Plain == plain
    a, b = pair(DERIVE, DERIVE), pair(DERIVE, DERIVE)
    derived = []
    for own, peer in (a, b), (b, a):
        ecdh = pb.ECDH1DeriveParm(Kdf=pb.CkdNull, PublicData=peer.PubKeyBytes[26:91])
        made = c.DeriveKey(Mech=pb.Mechanism(Mechanism=ECDH1_DERIVE, ECDH1DeriveParameter=ecdh), Template=secret, BaseKey=own.PrivKey)
        derived.append(c.EncryptSingle(Mech=cbc, Plain=plain, Key=made.NewKey).Ciphered)
    assert derived[0] == derived[1]
    assert ECDSA in c.GetMechanismList().Mechs
    assert c.GetMechanismInfo(Mech=AES_KEY_GEN).MechInfo.MaxKeySize > 0
    answer = c.GetAttributeValue(Object=keys.PrivKeyBytes, Attributes=template({SIGN: False}))
    assert answer.Attributes[SIGN].AttributeTF and answer.AttributesBytes[SIGN] == b"\1"
    changed = c.SetAttributeValue(Object=keys.PrivKeyBytes, Attributes=template({SIGN: False})).Object
    c.fails("SignSingle", 0x68, Mech=mech(ECDSA), Data=wanted, PrivKey=pb.KeyBlob(KeyBlobs=[changed]))
    assert len(c.Login(Storeid=b"store", Pin=b"12345678").Pinblob) == 80
    c.Logout()
    c.fails("RewrapKeyBlob", 0x80010009, WrappedKey=key)
    every = {method.name for method in pb.DESCRIPTOR.services_by_name["Crypto"].methods}
    assert done >= every and len(every) == 40, every - done
    print(f"Python: {len(every)} calls by gRPC {grpc.__version__}")


main(sys.argv[1])
