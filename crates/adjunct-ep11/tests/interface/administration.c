/* Administration by one call each, over a card that only pretends, and DER. */
#include "common.h"

static target_t target;
static int signatures;

static long sign(unsigned char *out, size_t length, const unsigned char *data, size_t data_length, const void *options)
{
    static const unsigned char ski[32] = {7};
    CK_MECHANISM mechanism = {0x1046UL, NULL, 0};
    const long *wanted = options;
    if (*wanted <= 0)
        return *wanted;
    CHECK(data_length > 40 && data[0] == 0x30);
    signatures++;
    long first = xcp_signerinfo(out, length, ski, sizeof(ski), NULL, 139, &mechanism, NULL);
    CHECK(first > 139);
    return first;
}

static void queries(void)
{
    struct XCPadmresp state = XCP_ADMRESP_INIT0;
    uint32_t value = 0, all[10] = {0}, instance = 0;
    unsigned char packed[128], points[XCP_CP_BYTES], pattern[32];
    IS(xcpa_state(&state, target, XCP_ADMFL_DOMAIN), 0);
    CHECK(state.domain == 5 && state.payload == NULL && state.modNr[0] == 8);
    IS(xcpa_dom_instance(&instance, target), 0);
    IS(instance, 3);
    IS(xcpa_admin_attr(target, XCP_ADMFL_DOMAIN, XCP_ADMINT_PERMS, &value), 0);
    IS(value, 0x11);
    IS(xcpa_admin_attr_mode(target, XCP_ADMFL_DOMAIN, &value), 0);
    IS(xcpa_admin_attr_perms(target, XCP_ADMFL_DOMAIN, &value), 1);
    IS(xcpa_admin_attr(target, 0, XCP_ADMINT_DIL_KTYPES, &value), XCP_EARG);
    long length = xcpa_query_admin_attrs(target, NULL, 0, NULL, 0, NULL, XCP_ADMFL_DOMAIN);
    IS(length, 32);
    IS(xcpa_query_admin_attrs(target, packed, 31, all, 10, NULL, XCP_ADMFL_DOMAIN), XCP_ESIZE);
    IS(xcpa_query_admin_attrs(target, packed, sizeof(packed), all, 3, NULL, XCP_ADMFL_DOMAIN), XCP_ESIZE);
    IS(xcpa_query_admin_attrs(target, packed, sizeof(packed), all, 10, &state, XCP_ADMFL_DOMAIN), length);
    IS(all[XCP_ADMINT_PERMS - 1], 0x11);
    value = 0;
    IS(xcpa_report_attrs_field(packed, (size_t)length, NULL, 0, XCP_ADMINT_PERMS, &value), 0);
    IS(value, 0x11);
    IS(xcpa_query_cps(target, points, sizeof(points), NULL, XCP_ADMFL_DOMAIN), XCP_CP_BYTES);
    IS(xcpa_query_cps(target, points, sizeof(points), NULL, 0), XCP_ADMERR_CARD_CPS_QUERY);
    IS(xcpa_cps2compliance(points), XCP_ADMS_FIPS2009);
    IS(get_dom_compl(target), XCP_ADMS_FIPS2009);
    IS(xcpa_query_wk(pattern, sizeof(pattern), 0, target), 32);
    CHECK(pattern[0] == 6);
    IS(xcpa_query_wk(pattern, sizeof(pattern), 1, target), 0);
    IS(xcpa_query_wk(pattern, 31, 0, target), XCP_ESIZE);
    IS(xcpa_state(&state, 99, 0), XCP_ETARGET);
}

static void commands(void)
{
    long one = 1, none = 0, wrong = -1;
    unsigned char points[XCP_CP_BYTES], pattern[32] = {0}, other[32] = {9};
    struct XCPadmresp state = XCP_ADMRESP_INIT0;
    IS(xcpa_set_admin_attr(target, XCP_ADMINT_SIGN_THR, 1, &state, XCP_ADMFL_DOMAIN, sign, &one, CKR_OK), 0);
    IS(signatures, 1);
    /* The state of the reply is that of the next command. */
    IS(state.tctr[15], 5);
    IS(xcpa_set_admin_attr(target, XCP_ADMINT_SIGN_THR, 1, &state, XCP_ADMFL_DOMAIN, sign, &one, CKR_ARGUMENTS_BAD),
       XCP_ADMERR_CMD_UNEXPECTED_RV);
    IS(xcpa_set_admin_attr(target, XCP_ADMINT_SIGN_THR, 1, NULL, XCP_ADMFL_DOMAIN, sign, &none, CKR_OK),
       XCP_ADMERR_NOT_ENOUGH_SIGNATURES);
    IS(xcpa_set_admin_attr(target, XCP_ADMINT_SIGN_THR, 1, NULL, XCP_ADMFL_DOMAIN, sign, &wrong, CKR_OK),
       XCP_ADMERR_SIGNING_CB_FAILED);
    IS(xcpa_query_cps(target, points, sizeof(points), NULL, XCP_ADMFL_DOMAIN), XCP_CP_BYTES);
    CPB_DEL(points, XCP_CPB_ALG_NFIPS2011);
    IS(xcpa_set_cps(target, points, NULL, XCP_ADMFL_DOMAIN, NULL, NULL, CKR_OK), 0);
    IS(xcpa_set_compliance(target, XCP_ADMS_FIPS2011, NULL, XCP_ADMFL_DOMAIN, NULL, NULL), 0);
    IS(xcpa_set_compliance(target, XCP_ADMS_BSI2009 | XCP_ADMS_BSICC2017, NULL, XCP_ADMFL_DOMAIN, NULL, NULL),
       XCP_ADMERR_COMPLIANCE_MODE_CONFLICT);
    IS(xcpa_enable_exportwk(target, NULL, NULL), 0);
    IS(xcpa_gen_random_wk(target, pattern, NULL, NULL), 0);
    IS(pattern[0], 6);
    IS(xcpa_commit_wk(target, pattern, NULL, NULL), 0);
    IS(xcpa_finalize_wk(target, pattern), 0);
    IS(xcpa_finalize_wk(target, NULL), XCP_EARG);

    struct Encrdkey parts[2];
    memset(parts, 0, sizeof(parts));
    for (int i = 0; i < 2; i++) {
        parts[i].ktype = XCP_IMPRKEY_EC_P521;
        parts[i].srcpublic[0] = 4;
        parts[i].splen = 133;
        parts[i].ulen = 40;
        parts[i].rlen = 72;
    }
    signatures = 0;
    IS(xcpa_import_wk(target, parts, 2, pattern, sign, &one), 0);
    IS(signatures, 2);
    IS(xcpa_import_wk(target, parts, 2, other, sign, &one), XCP_ERESPONSE);
    parts[1].splen = 65;
    IS(xcpa_import_wk(target, parts, 2, pattern, NULL, NULL), XCP_ADMERR_RI_ECPUB_INVALID);
    IS(xcpa_import_wk(target, parts, 0, pattern, NULL, NULL), XCP_EARG);

    struct Encrdkey back;
    struct Recipient_info info = {1, {0}, 0};
    long length = xcp_rcptinfo(info.data, sizeof(info.data), parts, NULL);
    CHECK(length > 200);
    info.dlen = (size_t)length;
    memset(&back, 0, sizeof(back));
    IS(xcp_rcptinfo_read(&back, info.data, info.dlen), length);
    CHECK(back.ktype == XCP_IMPRKEY_EC_P521 && back.rlen == 72 && back.ulen == 40 && back.srcpublic[0] == 4);
    IS(xcpa_import_wk_rcptinfo(target, &info, 1, pattern, NULL, NULL), 0);

    struct KPH holder = {.cert = (const unsigned char *)"certificate", .clen = 11};
    unsigned char request[256], exported[256];
    length = xcpa_fill_export_req(request, sizeof(request), &holder, 1, 0, NULL, 0);
    CHECK(length > 40 && request[3] == XCP_FILEID_EXPREQUEST);
    size_t exported_length = sizeof(exported);
    IS(xcpa_export_wk(target, 0, exported, &exported_length, request, (size_t)length, NULL, NULL), 0);
    uint32_t index = 0;
    long at = xcpa_kp_next_section(exported, exported_length, 0, &index);
    CHECK(at > 0 && index == 1);
    IS(xcpa_kp_next_section(exported, exported_length, (unsigned long)at, &index), 0);
    IS(xcpa_kps_retrieve_rcptinfo(&info, 1, exported, exported_length), 1);
    CHECK(info.dlen == 4 && memcmp(info.data, "part", 4) == 0);
    IS(xcpa_fill_export_req(request, sizeof(request), &holder, 1, 1, NULL, 0), XCP_EAPI);
    IS(xcpa_query_full_file(request, sizeof(request), target, XCP_FILEID_SAVED_STATE, 0), XCP_EAPI);
}

static void der(void)
{
    unsigned char info[600], mask[2];
    const unsigned char ski[32] = {7}, *found, *oid;
    size_t length, offset, oid_length;
    CK_MECHANISM rsa = {0x40, NULL, 0}, signing, digest;
    char list[] = "0,3-5,15", wrong[] = "3-";
    long bytes = xcp_signerinfo(NULL, 0, ski, 32, NULL, 256, &rsa, NULL);
    IS(xcp_signerinfo(info, sizeof(info), ski, 32, NULL, 256, &rsa, NULL), bytes);
    IS(xcp_signerinfo_read(info, sizeof(info), &found, &length, NULL, NULL, NULL, NULL, &oid, &oid_length, &signing,
                           &digest),
       bytes);
    CHECK(length == 32 && found[0] == 7 && found > info && signing.mechanism == 0x40 && digest.mechanism == CKM_SHA256);
    IS(xcp_signerinfo(info, sizeof(info), ski, 31, NULL, 256, &rsa, NULL), XCP_EARG);
    IS(xcpa_asn_bytes(info, sizeof(info)), bytes);
    IS(xcpa_asn_value_offset(info, sizeof(info)), 4);
    IS(xcpa_asn_tag(&offset, info, sizeof(info)), bytes);
    IS(offset, 4);
    IS(xcpa_asn_tag(&offset, info, 10), 0);
    IS(xcpa_asn_tlv(info, sizeof(info), 0x30, &offset, &length), bytes);
    IS(xcpa_asn_tlv(info, sizeof(info), 0x31, NULL, NULL), XCP_EINVALID);
    const unsigned char spki[] = {0x30, 10, 0x30, 3, 6, 1, 42, 3, 3, 0, 4, 9};
    IS(xcp_spki2pubkey(&found, spki, sizeof(spki)), 2);
    IS(found[1], 9);
    IS(xcpa_ec_pub2y(&offset, spki, sizeof(spki)), 2);
    IS(offset, 10);
    IS(xcpa_dh_pub2y(&offset, spki, sizeof(spki)), 0);
    IS(xcp_args2mask(list, mask, 16), 0);
    CHECK(mask[0] == 0x9c && mask[1] == 1);
    IS(xcp_args2mask(wrong, mask, 16), XCP_EARG);
    IS(xcp_valid_ec_imprtype2oid(&oid, &oid_length, XCP_IMPRKEY_EC_P256), 1);
    XCP_IMPRKEY_t type;
    IS(xcp_valid_ec_oid2imprtype(&type, oid, oid_length), 1);
    IS(type, XCP_IMPRKEY_EC_P256);
    IS(xcpa_certreplace(info, sizeof(info), ski, 32, (const unsigned char *)"certificate", 11), 2 + 34 + 13);
    IS(xcpa_write_filepart_hdr(info, sizeof(info), 4, 0, 100), 12);
    IS(info[11], 100);
    CHECK(sizeof(struct Encrdkey) == 904 && sizeof(struct KPH) == 72 && sizeof(struct Recipient_info) == 1040);
}

int main(void)
{
    IS(m_init(), XCP_OK);
    target = target_of(XCP_TGT_INIT, 0, 5, 0);
    queries();
    commands();
    der();
    puts("good");
    return 0;
}
