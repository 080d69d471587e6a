//! RSA keys of random primes, so that the target of RSA seldom has to make one, and finds again what it has found.

/// A key in both forms: hexadecimal numbers, as long as the modulus or half of that.
pub struct Key {
    pub bits: u32,
    pub e: u64,
    pub n: &'static str,
    pub d: &'static str,
    pub p: &'static str,
    pub q: &'static str,
    pub dp: &'static str,
    pub dq: &'static str,
    pub qinv: &'static str,
}

/// From the shortest to what AWS-LC's own RSA takes, with short exponents and with exponents longer than the primes.
pub const KEYS: [Key; 14] = [
    Key {
        bits: 57,
        e: 0x3,
        n: "018ca3d6894d7e79",
        d: "00421b4e64e81e69",
        p: "1f1d6317",
        q: "0cbf64ef",
        dp: "14be420f",
        dq: "087f989f",
        qinv: "059907a4",
    },
    Key {
        bits: 57,
        e: 0x5a3c2155aaf00d,
        n: "01c73dac1bf2709f",
        d: "006728ec55c69a19",
        p: "1f7b3d15",
        q: "0e75ebe3",
        dp: "08ee791d",
        dq: "045e1e83",
        qinv: "00ba6074",
    },
    Key {
        bits: 64,
        e: 0x10001,
        n: "d4aa601a2a5f0867",
        d: "5e70367238ce3599",
        p: "f0e9dc05",
        q: "e1fbaa7b",
        dp: "33411ddd",
        dq: "97995a13",
        qinv: "557c324f",
    },
    Key {
        bits: 65,
        e: 0x11,
        n: "01a9641de8557f72ef",
        d: "00709a80626ee9534d",
        p: "01beb9722b",
        q: "00f3c6544d",
        dp: "0106c77055",
        dq: "00c8c17299",
        qinv: "00df5d3684",
    },
    Key {
        bits: 96,
        e: 0x5,
        n: "ded4eb2c1a6de032e8cdc929",
        d: "216cbce03729cd2d6fa12299",
        p: "ef42e3c86ae5",
        q: "ee6bc77dccf5",
        dp: "bf68b639ef1d",
        dq: "5f5e4fcbeb95",
        qinv: "ab7ffcc40b5e",
    },
    Key {
        bits: 128,
        e: 0xfedcba9876543215,
        n: "ab70bbfb66441d102690d82b3921111b",
        d: "413014fdc5c1895a1afceb84973bcbe9",
        p: "e439ed8772f469d5",
        q: "c04db86b6201972f",
        dp: "a2375382dd7284e9",
        dq: "1ff658dac18d4377",
        qinv: "7a16fe2ed4496e00",
    },
    Key {
        bits: 257,
        e: 0x10001,
        n: "01ab6d3a41532dd8f03088361c07d6ea27c937fbc55415986b483e279e6e690c89",
        d: "0068e52bf447290bc1da6f3b3442da43e9288a5f7a09f5e2fd8e9c96d60daefa07",
        p: "01c25b1bac323235531b9a6eb29df0c17f",
        q: "00f2f7543ccb967a2cc4ee30c8065925f7",
        dp: "00eb584135d36579885cbc6f6cd82ca071",
        dq: "0079a5e5f24e88b801245491ee0467ac3f",
        qinv: "01005fb64e6bfb04e01408219c20eb2919",
    },
    Key {
        bits: 384,
        e: 0x101,
        n: "ed7f1e033ed9fd765bdb8d273f9611b56674c12b36749b780a14b4a7cdac2a9dcd32282cabdab0b44e34e852ebdb98e9",
        d: "239409f98370584606c9baff67a8694087612ddf208ff967db767f000e9c1b766a69b508d68b97137c59086f7bdeaabb",
        p: "fdca44741ec2d30025b9354775250bc500e953e5428cd9e3",
        q: "ef90877fc5131ea1c9dbe3fd556846bd05426617c18dabc3",
        dp: "40302b364589eda5642fd6b0744a1ddf2615292411d3ef63",
        dq: "6fdbe3a0441cd982544ac816a95f81a6f3839c3ee3d691f1",
        qinv: "4f437c81d5d37bdbf891021f9283be3ede84f04c8768d46b",
    },
    Key {
        bits: 511,
        e: 0x11,
        n: "5b33801903e38a1b9032c916dcc775a83397c93e5725d82d3cc8397244b583ebbbea56e31a3b082be1d8ca646e82e7ed922e\
            b04dca7204e8dc739cbc128a0c89",
        d: "080c12d507df5f026e9b11be40a830074fd8afdfda8356d6d0a8414dd8e2d6ef0961ccf310146c8dbdd674bcd306b2d82c97\
            03a14ff51ea1dff0447f10893d09",
        p: "f082dd1fdb27c3290e4d129c4452ae5d5c9400b0c5adaec8bd04bcce415cee6d",
        q: "611311ab3381216716b7e216d28ef9539195dbce253fa5a03576824dc06f150d",
        dp: "712e862d1bd679f533e808c20208ca8649af0f623ee8524058f32bac5afe8e51",
        dq: "11217b96aebc6f4e6d6bbe7c7f82a47828c017baf783b3d0fa60351cc79b21d5",
        qinv: "6f0ab0eea8edbae64eda82c33fe5598fa4f5420f08458873b131fe12c8f7edca",
    },
    Key {
        bits: 512,
        e: 0x10001,
        n: "c0f713b118d3c2a3a9e9de5eceed41a362f3a86271aca4eb1bfddff85b53d04db0db3fad4038222fb325c233561a16379a0b\
            d570d6d993e0403cde94081202cd",
        d: "29e2374afc599268d5cba671abb681c5c6079f27e706933158fd0ced2a5d91dbba89394022b081c444f0d117c192dccc40d3\
            6f5ff17674e1c6f144c5946f0c1d",
        p: "e9afd7f202819083c3cbcb6e2c096d6b62c13f01b2ae9379369d476b54db8bcf",
        q: "d363d894b63025238b7cc4bf64b8f4afd30542f5aafd8de2fb88052c9a01a2a3",
        dp: "17956d7fb90d065ea5e5ed53e311d87f1bea50c78516e53f3869cb0963f8fc35",
        dq: "03cbe242e176c1e3fe88521c41d9d48327de0b52d02c57950101735e56b1bad3",
        qinv: "9aea0e5c518ed036de3eb2782e78dd4f37b0f28370223443117843782145d77a",
    },
    Key {
        bits: 513,
        e: 0xffffffffffffffc5,
        n: "01c33bace387fbc64cc74ebe1b06424cff700ee06ab609672e86146d804cd7b214ac88f9d83d1a398113d5a721ff7f0b3886\
            0147164bc9daf1dc047deae3002ed5",
        d: "0017e03fe4d450444c7e88099b34cb749350ac35d9cc3474782cd074d8d4cc678754f91b0f079197e2e4738ee22ce5e127d3\
            0f6856baad7f0f721114b6c360ccad",
        p: "01d8eacbb13751da180be8440ab40438fe880147bccf59fbd5773177cdddc027cb",
        q: "00f4430fdb88ff746c62d84aa420c8e1a6b64e2fe2d987d0800ad0c7681585efdf",
        dp: "002b356b9170239ac4f31ddaba72ef87f6491331d4b749a8364f0209eeeef22c0f",
        dq: "0067e2c7c0b968cd6d8255f08288291becda1675c9c5846032c606a35aace94633",
        qinv: "00044d0f7bf0f05750defd726d63a4ff25a5ca010b4abaa5ff2ebc35f86590c7a8",
    },
    Key {
        bits: 1024,
        e: 0x10001,
        n: "d37c4e8a91c089fa1e6c961544e7f13be418e8dd4151470d72be74e66cf634a1dc323d7a7b2f89237aa2893026db112d72ec\
            1e249d6c17f6c5416b4b2468b9dcce03c414b19534ef4ed20abaac6b367772d6642fdaf954a80cfaa4a42dcf65821b621f6b\
            4242b9a6e2c842d055fdcc8c62f8a19ef76af0b1226b11e2adb4d845",
        d: "0faabacacb275f515725a62ca731238ed34401243aed817cfe8e1b6ce28f8eb09af661d58c00a6812959971e2912bb80096e\
            728135e4471631e0b9c9144669d64e2a63b34d13f0b3bb3dbb47ce94b97880448404c29e6438f658e3dba391aaa0d6611522\
            b70dd784d19c7d6239ddc327cf0e29a3be9050afb2cbcb98f4d7a401",
        p: "f592ac2dcabc1074f0c661ea15e99cd899171580c33d42e114a5b651b5f5662ce0ef298c907eaeb68acbec884cb81da64ec0\
            dd9152f2ccf5749e5b79ab842f01",
        q: "dc771c8ef612ff7abd4d7d99ea43cc7e039d04b0bf16c59e20ad664e47b198b207fdd264d3cca8fc696c3a8213ec91de1b12\
            fa1b0662596921e2198dd7d12d45",
        dp: "60f1d626fdb1e08d49c0074771ff177c2a738279a299bc9d3e996cb03534fb711c1b4e3bbf8f4349ace1742f1a9a549a22dc\
            e09b4e33abd5fa83c978eeccf001",
        dq: "5d0b5c1f2dd568c3595f79f1da7fd0af2241437880bd509be2f8aba3bff8411469f102b990f5e01fdf32512312db95d8621e\
            c9355ca5674cca830cfbe328a1ed",
        qinv: "8c2bda54d7b3fcc57e05c8baed6f06f89e04e07c88add432683a94877a5e794493f05080d47475c05879c1dcf6eed113bdcd\
            f28e6ab41f65af4c94cc1049cc06",
    },
    Key {
        bits: 1025,
        e: 0x29,
        n: "014b2328efee9e3f6528d4f490e8f592217f9cbc8f16dc786c4dde862e96cdad424621dfa23cdab17a541ea17127820ff4a9\
            b1b1695599ba1cbde077b629f92f4cf0bf79e4e39c0bb22b70605e13fcff545bf96b584e92d461691652c56ae3f30208f349\
            f33f02951b2a8771c181b166d9c49cd76a951dcf611b8d85b13a38b24b",
        d: "006d087480f408660b74781216bd18a9df529aa1fd29de72940d26edbe2b692faecc2a5f7d39803431a51054609340add6cd\
            ba823889742dabce21531fe21cf9b7c309374c2c6c345b9e6c3ba0b6557ba323f28f214e364d8b8118cbaef00ff891cefc47\
            f2530bc95547d3c086784e970c6d5dab39242d05b7aebd4c1969058e35",
        p: "019780107470cd7abffb7b6547d73e80b9e28c79be366ea98d0e1bee2f74aa2eeb14377f3a367195b721265f41356e998165\
            bc7b9a5814af3f9da68ad217fdace7",
        q: "00d006fa632e43931e4ed2330838ea497b9a7951df9c62cd8b7d92a4a89868138b8997add915d57f7d7b16dcc1fb541f0cb3\
            e9cf0fbc348a069a9e987effb85efd",
        dp: "00d0b83a611a8eb5818d4bb0c0e4e1931a86c4d435b7fa3dde19f55488b263a7a41d162e6efcaa915dcc4bd95fd6af48617f\
            092016dbf19e71c12359d5c15c77c7",
        dq: "004708a06ccb1d51747ed124284562bb6ee39392974821bcd1f8ed63eea46e77106d6bfcec77d882f2a6e8964eb9b8d2683d\
            6f0e824043e43434cc021ee0af58a1",
        qinv: "0003f4a56bde488f338b52a278e4ac5be8c6ac42cccae465933f5c3f054e1e543d655df2b2f93f5058397e9c9fde04f20275\
            993b54dac2f178b36d52819ab53afe",
    },
    Key {
        bits: 2048,
        e: 0x3,
        n: "9fa1b714b9f4b0340fd69ab575abc967e727d828134e01c6faa57a1ad0e848b2aa0f080ea48c95f0f895552c920b333db514\
            431bf98a3ab1f0fc51e3fed4350819b6c206e2fdbe90f9ef1bd2557aae74d9a7f2d461bd844529c6bdee6a4d5cefb1c2d614\
            1d6e8b24e52b9ed7441f56a85ebedd8f4c386e9648c2e134875a007f3875c85c0e18aaaa8fb7eabef62f9a1168d57b2d2cd4\
            d81b7fc4625779637191bfb1e7b2c7db39b64fb31028512ebadf6eca5901c5938fdc7e3bc3a96fdb30932699b87ae7099bb4\
            8d31738b2a7b04458e25b8834cea3c418eac5b5268daad5e0a53c457677f8ec446fc2bef52f1e1ef7de193e2dfef39046487\
            fdc01895febd",
        d: "1a9af3d8c9a8c808ad4e6f1e3e474c3bfbdbf95c0337aaf67f1b9459cd7c0c1dc7028157c6176e52d418e3876dac888a48d8\
            b5d9feec5f1da82a0da5ffce08d6aef3cb0125d4f51829a7d9f863947268cef15323659f960b86f674fd11b78f7d484b23ae\
            04e7c1db7b874523e0afe3c6ba7524ed375ebd190c207ade168f0014f0adcf8c30b216a18fe56f0dfea5dff622bfc3c31ff7\
            9f31cdb0e8dc1eebe08431bcac1faff9e50aa5a607bcd25ea1489a48bba576a4e7831efee6478c1d2fbb70b1b75e80a98670\
            a017869ec88d53e096cc15a62bafee78e529cfa65342d21848d8ae45f9ee6571fa1f0ad326ae00c9a87cb9ac56ea80a933c1\
            fe9eaebbb4ab",
        p: "ce3d628f1da1f2710d750e251cad58606521c40ea87c84bdbd0e4b4802526c8431aac7a9d8791273533b46912e796cf16d8c\
            31fa2e6da967703f7d8339d4db58ba52dca8474d6c6215819cb7e4215cb05a1f217e4299b48c7c46f94816aa7fcef7416b78\
            c9c6f7fd0622b0e278cd676d17bed9a0e5d594432edddecf692ee1bd",
        q: "c6258883cc4a307022e24245e19f01ec3335208bc48a9832f090a1e6bd89c1f4639b174acf86c9031a939b2a347d863a6389\
            c126cf4879625402e078ed5736d5c81c8f9b9bc308aeb722af1a9309b051ab3e15200430f0dfb36a84245e9f40fd5dfe433a\
            c222361b641f3a19f21075c873366037f09aa0c9ff1e27389700e101",
        dp: "897e41b4be6bf6f608f8b418bdc8e59598c12d5f1afdadd3d35edcdaac36f302cbc72fc69050b6f78cd22f0b7450f34b9e5d\
            76a6c99e70efa02a53acd138923b26e1e8702f88f2ec0e56687a98163dcae6bf6ba981bbcdb2fd84a6300f1c5534a4d647a5\
            dbd9faa8aec1cb41a5de44f36529e66b43e3b82cc9e93f34f0c9ebd3",
        dq: "841905ad32dc204ac1ec2c2e966a014822236b07d85c65774b0b1699d3b12bf8426764dc8a59db57670d121c22fe597c425b\
            d619df85a6418d5740509e3a248e85685fbd128205c9cf6c74bc6206758bc77eb8c002cb4b3fccf1ad6d946a2b5393fed77c\
            816c241242bf7c114c0af9304cceeacff5bc6b3154bec4d064ab40ab",
        qinv: "94facc1e526fe82260f60a950167c13362b46298c7a37168ee0b90e7298ca4effb0f81541d479fdf4d0fb36a0f4ee3ce9882\
            38a4da23d913ac0edf881200524b4d9acc4a35e9a3fb7ac5304fcb7069cc7a20d839563ab45062c1817e19cd65c09cd418b1\
            8933abff2ae2fe0c946ccbe3f5e6e7dcd4a7d593b984736a143164f7",
    },
];
