// Calls of GREP11 by gRPC for Go: client ADDRESS.
package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"time"

	pb "grep11clients/grep11"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
)

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "client:", err)
		os.Exit(1)
	}
}

func must(holds bool, what string) {
	if !holds {
		fmt.Fprintln(os.Stderr, "client:", what)
		os.Exit(1)
	}
}

func yes() *pb.AttributeValue {
	return &pb.AttributeValue{OneAttr: &pb.AttributeValue_AttributeTF{AttributeTF: true}}
}

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	conn, err := grpc.DialContext(ctx, os.Args[1], grpc.WithInsecure(), grpc.WithBlock())
	check(err)
	defer conn.Close()
	c := pb.NewCryptoClient(conn)
	random, err := c.GenerateRandom(ctx, &pb.GenerateRandomRequest{Len: 16})
	check(err)
	must(len(random.Rnd) == 16, "random bytes")
	oid := []byte{6, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7}
	params := &pb.AttributeValue{OneAttr: &pb.AttributeValue_AttributeB{AttributeB: oid}}
	pair, err := c.GenerateKeyPair(ctx, &pb.GenerateKeyPairRequest{
		Mech:            &pb.Mechanism{Mechanism: 0x1040},
		PrivKeyTemplate: map[uint64]*pb.AttributeValue{0x108: yes()},
		PubKeyTemplate:  map[uint64]*pb.AttributeValue{0x10a: yes(), 0x180: params},
	})
	check(err)
	ecdsa, digest := &pb.Mechanism{Mechanism: 0x1041}, bytes.Repeat([]byte{5}, 32)
	signed, err := c.SignSingle(ctx, &pb.SignSingleRequest{Mech: ecdsa, Data: digest, PrivKey: pair.PrivKey})
	check(err)
	verify := &pb.VerifySingleRequest{Mech: ecdsa, Data: digest, Signature: signed.Signature, PubKey: pair.PubKey}
	_, err = c.VerifySingle(ctx, verify)
	check(err)
	verify.Data = bytes.Repeat([]byte{6}, 32)
	_, err = c.VerifySingle(ctx, verify)
	details := status.Convert(err).Details()
	must(len(details) == 1, "one detail")
	wrong, is := details[0].(*pb.Grep11Error)
	must(is && wrong.Code == 0xc0 && !wrong.Retry, "CKR_SIGNATURE_INVALID")
	iv := &pb.Mechanism_ParameterB{ParameterB: make([]byte, 16)}
	size := &pb.AttributeValue{OneAttr: &pb.AttributeValue_AttributeI{AttributeI: 32}}
	key, err := c.GenerateKey(ctx, &pb.GenerateKeyRequest{
		Mech:     &pb.Mechanism{Mechanism: 0x1080},
		Template: map[uint64]*pb.AttributeValue{0x161: size, 0x104: yes(), 0x105: yes()},
	})
	check(err)
	plain, cbc := []byte("a text"), &pb.Mechanism{Mechanism: 0x1085, Parameter: iv}
	begun, err := c.EncryptInit(ctx, &pb.EncryptInitRequest{Mech: cbc, Key: key.Key})
	check(err)
	ciphered, err := c.Encrypt(ctx, &pb.EncryptRequest{State: begun.State, Plain: plain})
	check(err)
	opened, err := c.DecryptSingle(ctx, &pb.DecryptSingleRequest{Mech: cbc, Ciphered: ciphered.Ciphered, Key: key.Key})
	check(err)
	must(bytes.Equal(opened.Plain, plain), "the text")
	fmt.Println("Go: gRPC", grpc.Version)
}
