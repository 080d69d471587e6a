/* Administration by libep11: what makes and reads blocks of commands, and what sends them. For use after ep11.h.
 *
 * Functions return bytes or 0, or an error: XCP_E... of ep11.h, or XCP_ADMERR_.... Where a buffer is null, those that make something return its length.
 */
#ifndef __xcpadm_h__
#define __xcpadm_h__

#ifndef XCP_H__
#include "ep11.h"
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define XCP_ADMFL_DOMAIN 1 /* of the domain, not of the card */
#define XCP_ADMFL_FORCE 0x80

#define XCP_ADMERR_MIN ((long)(1UL << (sizeof(long) * 8 - 1)))
#define XCP_ADMERR_QUERY_FAILED (XCP_ADMERR_MIN + 0x101)
#define XCP_ADMERR_NOT_ENOUGH_SIGNATURES (XCP_ADMERR_MIN + 0x102)
#define XCP_ADMERR_SIGNING_CB_FAILED (XCP_ADMERR_MIN + 0x103)
#define XCP_ADMERR_COMMAND_FAILED (XCP_ADMERR_MIN + 0x104)
#define XCP_ADMERR_CARD_CPS_QUERY (XCP_ADMERR_MIN + 0x105)
#define XCP_ADMERR_CMD_UNEXPECTED_RV (XCP_ADMERR_MIN + 0x106)
#define XCP_ADMERR_COMPLIANCE_MODE_CONFLICT (XCP_ADMERR_MIN + 0x107)
#define XCP_ADMERR_NEEDS_FORCE (XCP_ADMERR_MIN + 0x108)
#define XCP_ADMERR_CTR_SIZE_INVALID (XCP_ADMERR_MIN + 0x109)
#define XCP_ADMERR_SI_HSH_MECH_UNSUPPORTED (XCP_ADMERR_MIN + 0x151)
#define XCP_ADMERR_SI_SIG_MECH_UNSUPPORTED (XCP_ADMERR_MIN + 0x152)
#define XCP_ADMERR_SI_OID_MECH_MISMATCH (XCP_ADMERR_MIN + 0x153)
#define XCP_ADMERR_SI_SIG_EMPTY (XCP_ADMERR_MIN + 0x154)
#define XCP_ADMERR_SI_SIZE (XCP_ADMERR_MIN + 0x155)
#define XCP_ADMERR_RI_ENC_EMPTY (XCP_ADMERR_MIN + 0x181)
#define XCP_ADMERR_RI_UKM_INVALID (XCP_ADMERR_MIN + 0x182)
#define XCP_ADMERR_RI_IMPR_INVALID (XCP_ADMERR_MIN + 0x183)
#define XCP_ADMERR_RI_RSA_ALG_INVALID (XCP_ADMERR_MIN + 0x184)
#define XCP_ADMERR_RI_KWRAPSIZE_INVALID (XCP_ADMERR_MIN + 0x185)
#define XCP_ADMERR_RI_ECPUB_INVALID (XCP_ADMERR_MIN + 0x186)
#define XCP_ADMERR_RI_SKI_INVALID (XCP_ADMERR_MIN + 0x187)
#define XCP_ADMERR_RI_RSA_OID_INVALID (XCP_ADMERR_MIN + 0x188)
#define XCP_ADMERR_RI_EC_OID_INVALID (XCP_ADMERR_MIN + 0x189)
#define XCP_ADMERR_RI_VERSION_INVALID (XCP_ADMERR_MIN + 0x18a)
#define XCP_ADMERR_RI_KWRAPALG_INVALID (XCP_ADMERR_MIN + 0x18b)

/* What a reply of m_admin says. The payload is in the reply. */
typedef struct XCPadmresp {
    uint32_t fn;
    uint32_t domain;
    uint32_t domainInst;
    unsigned char module[2 * XCP_SERIALNR_CHARS]; /* number and instance */
    unsigned char modNr[XCP_SERIALNR_CHARS];
    unsigned char modInst[XCP_SERIALNR_CHARS];
    unsigned char tctr[XCP_ADMCTR_BYTES]; /* counter of commands */
    CK_RV rv;
    uint32_t reason; /* where rv is not CKR_OK */
    const unsigned char *payload;
    size_t pllen;
} *XCPadmresp_t;
#define XCP_ADMRESP_INIT0 {0, 0, 0, {0}, {0}, {0}, {0}, CKR_OK, 0, NULL, 0}

/* By its name before version 2 */
#define ep11_admresp XCPadmresp
typedef struct XCPadmresp *ep11_admresp_t;

/* Makes a query's block for a domain; XCP_ETARGET for a group. */
long xcpa_queryblock(unsigned char *blk, size_t blen, unsigned int fn, target_t domain, const unsigned char *payload,
    size_t plen);

/* Makes a command's block for what minf says of module and domain. Without tctr the counter is the one after minf's. A blob in the payload takes the form of cards; of
 * XCP_ADM_REENCRYPT minf's domain counts alone. */
long xcpa_cmdblock(unsigned char *blk, size_t blen, unsigned int fn, const struct XCPadmresp *minf,
    const unsigned char *tctr, const unsigned char *payload, size_t plen);

/* Reads a reply: 0, or XCP_EINVALID. */
long xcpa_internal_rv(const unsigned char *rsp, size_t rlen, struct XCPadmresp *rspblk, CK_RV *rv);

/* Names before version 2 */
long ep11a_queryblock(unsigned char *blk, size_t blen, unsigned int fn, target_t domain, const unsigned char *payload,
    size_t plen);
long ep11a_cmdblock(unsigned char *blk, size_t blen, unsigned int fn, const struct ep11_admresp *minf,
    const unsigned char *tctr, const unsigned char *payload, size_t plen);
long ep11a_internal_rv(const unsigned char *rsp, size_t rlen, struct ep11_admresp *rspblk, CK_RV *rv);
CK_RV m_get_ep11_info(CK_VOID_PTR info, CK_ULONG_PTR infbytes, unsigned int query, unsigned int subquery, target_t target);

/* SEQUENCE {ski, certificate}: the payload that replaces an administrator's certificate. */
long xcpa_certreplace(unsigned char *blk, size_t blen, const unsigned char *ski, size_t slen, const unsigned char *cert,
    size_t clen);

/* Queries. flags: XCP_ADMFL_DOMAIN, or 0 for the card. rb may be null; its payload is null when they return. */
long xcpa_query_wk(unsigned char *wk, size_t wlen, int type, target_t target); /* type 1: the next; 0: there is none */
long xcpa_state(struct XCPadmresp *rb, target_t target, unsigned int flags);
long xcpa_dom_instance(uint32_t *inst, target_t target);
long xcpa_admin_attr(target_t target, unsigned int flags, XCP_AdmAttr_t attr, uint32_t *val);
long xcpa_admin_attr_mode(target_t target, unsigned int flags, uint32_t *mode);   /* 1: no longer in imprint mode */
long xcpa_admin_attr_perms(target_t target, unsigned int flags, uint32_t *perms); /* 1: one signature may be enough */
long xcpa_query_admin_attrs(target_t target, unsigned char *attrs, size_t alen, uint32_t *a32, unsigned int acount,
    struct XCPadmresp *rb, unsigned int flags);
long xcpa_report_attrs_field(const unsigned char *attrs, size_t alen, uint32_t *a32, unsigned int acount, uint32_t idx,
    uint32_t *val);
long xcpa_query_cps(target_t target, unsigned char *cps, size_t cplen, struct XCPadmresp *rb, unsigned int flags);
uint32_t xcpa_cps2compliance(const unsigned char *cps);
uint64_t get_dom_compl(target_t target);

/* Sends a block and compares what it says with exprv: bytes of the reply. */
long xcpa_admin_call(unsigned char *rsp1, size_t *rsp1len, unsigned char *rsp2, size_t *rsp2len,
    const unsigned char *req, size_t reqlen, const unsigned char *sigs, size_t slen, target_t target, const char *msg,
    struct XCPadmresp *rb, CK_RV *rv, CK_RV exprv);

/* Signs: writes SignerInfos for data to sigs and gives their bytes; 0 where there are not enough, less for an error. */
typedef long (*xcpa_admin_signs_cb_t)(unsigned char *sigs, size_t slen, const unsigned char *data, size_t dlen,
    const void *signopts);

/* Commands. Without rb, or with one of zeros, the state is asked for. Without sign_cb nothing is signed. */
long xcpa_set_admin_attrs(target_t target, unsigned char *attrs, size_t alen, struct XCPadmresp *rb,
    unsigned int flags, xcpa_admin_signs_cb_t sign_cb, const void *signopts, CK_RV exprv);
long xcpa_set_admin_attr(target_t target, uint32_t idx, uint32_t val, struct XCPadmresp *rb, unsigned int flags,
    xcpa_admin_signs_cb_t sign_cb, const void *signopts, CK_RV exprv);
long xcpa_set_cps(target_t target, const unsigned char *cps, struct XCPadmresp *rb, unsigned int flags,
    xcpa_admin_signs_cb_t sign_cb, const void *signopts, CK_RV exprv);
long xcpa_set_compliance(target_t target, uint64_t mode, struct XCPadmresp *rb, unsigned int flags,
    xcpa_admin_signs_cb_t sign_cb, const void *signopts);
long xcpa_enable_exportwk(target_t target, xcpa_admin_signs_cb_t sign_cb, const void *signopts);
long xcpa_enable_importwk(target_t target, xcpa_admin_signs_cb_t sign_cb, const void *signopts);
long xcpa_enable_export_state(target_t target, xcpa_admin_signs_cb_t sign_cb, const void *signopts);
long xcpa_enable_import_state(target_t target, xcpa_admin_signs_cb_t sign_cb, const void *signopts);

/* Wrapping keys; wkvp has 32 bytes. */
#define XCP_RI_UKM_BYTES 40

typedef struct Encrdkey {
    unsigned char srcprivate[66]; /* not used */
    size_t sprivlen;
    unsigned char *oid; /* not used */
    size_t olen;
    unsigned char srcpublic[1 + 66 + 66]; /* curves: the originator's point; RSA: none */
    size_t splen;
    unsigned char ukm[XCP_RI_UKM_BYTES];
    size_t ulen;
    const unsigned char *spki; /* not used */
    size_t spkilen;
    unsigned char ski[XCP_CERTHASH_BYTES];
    int ktype; /* XCP_IMPRKEY_t */
    CK_MECHANISM *alg; /* not used */
    unsigned char wrap_alg[25]; /* not used */
    unsigned char raw[4096 / 8]; /* the encrypted part */
    size_t rlen;
} *Encrdkey_t;

typedef struct Recipient_info {
    uint32_t version;
    unsigned char data[1024];
    size_t dlen;
} *Recipient_info_t;

/* A holder of a key part: the certificate alone is used. */
struct KPH {
    const unsigned char *cert;
    size_t clen;
    const char *id;
    const char *pw;
    const char *kpfname;
    char scard;
    char ski_id;
    int rdr_id;
    char kp_id;
    uint64_t sigmech;
    const char *padmode;
};

struct STATESAVE {
    const char *statefname;
    unsigned int restrict_mode;
    unsigned char domainmask[XCP_DOMAINS / 8];
};

long xcpa_gen_random_wk(target_t target, unsigned char *wkvp, xcpa_admin_signs_cb_t sign_cb, const void *signopts);
long xcpa_import_wk(target_t target, const struct Encrdkey *ekps, unsigned int kcnt, const unsigned char *wkvp,
    xcpa_admin_signs_cb_t sign_cb, const void *signopts);
long xcpa_import_wk_rcptinfo(target_t target, struct Recipient_info *rinfo, unsigned int ricnt,
    const unsigned char *wkvp, xcpa_admin_signs_cb_t sign_cb, const void *signopts);
long xcpa_commit_wk(target_t target, const unsigned char *wkvp, xcpa_admin_signs_cb_t sign_cb, const void *signopts);
long xcpa_finalize_wk(target_t target, const unsigned char *wkvp);
/* wktype 0: the one in use, else the next. The request is xcpa_fill_export_req's, which makes none of a state: XCP_EAPI. */
long xcpa_export_wk(target_t target, int wktype, unsigned char *keyparts, size_t *keypartlen,
    const unsigned char *request, size_t requestlen, xcpa_admin_signs_cb_t sign_cb, const void *signopts);
long xcpa_fill_export_req(unsigned char *asn, size_t alen, const struct KPH *certs, unsigned int ccnt, int exportstate,
    struct STATESAVE *statesave, uint32_t restriction_mask);
long xcpa_kp_next_section(const unsigned char *kps, size_t kplen, unsigned long idx, uint32_t *kpidx);
long xcpa_kps_retrieve_rcptinfo(struct Recipient_info *rcpti, unsigned int rimax, const unsigned char *kpexport,
    size_t kplen);
/* One part of an import: its block, to be signed, and both together. */
long xcpa_import_cmdblock(unsigned char *out, size_t olen, const struct Encrdkey *key, const struct XCPadmresp *minf,
    const unsigned char *tctr);
long xcpa_import_keypart(unsigned char *out, size_t olen, const unsigned char *cmdblk, size_t clen,
    const unsigned char *sig, size_t slen, const struct XCPadmresp *minf, const target_t target);

/* Files of cards. Those that would move a card's state in files give XCP_EAPI: these cards have none. */
int xcpa_write_filepart_hdr(unsigned char *hdr, size_t hlen, uint32_t fileid, uint32_t offset, uint32_t bytes);
long xcpa_query_filepart(unsigned char *res, size_t rlen, const unsigned char *hdr, size_t hlen, target_t target,
    CK_RV exprv);
long xcpa_remove_file(target_t target, unsigned int fileid, xcpa_admin_signs_cb_t sign_cb, const void *signopts);
long xcpa_query_full_file(unsigned char *res, size_t rlen, target_t target, unsigned int fileid, unsigned int block);
long xcpa_write_full_file(target_t target, xcpa_admin_signs_cb_t sign_cb, const void *signopts,
    const unsigned char *data, size_t dlen, unsigned int fileid, unsigned int block);
long xcpa_export_state(target_t target, unsigned char *state, size_t *statelen, unsigned char *tkps, size_t *tkplen,
    const unsigned char *request, size_t requestlen, xcpa_admin_signs_cb_t sign_cb, const void *signopts);
long xcpa_import_state(target_t target, unsigned char *domainmask, unsigned char *state, size_t statelen,
    struct Encrdkey *ekps, unsigned int kpcnt, xcpa_admin_signs_cb_t sign_cb, const void *signopts);
long xcpa_construct_keypart_file(unsigned char *domainmask, const struct KPH *kphs, const struct Encrdkey *ekps,
    unsigned int kcnt, unsigned char *reqprep, size_t *reqpreplen, unsigned int headerinfo);

/* DER. A null sig stands for siglen zeros. sigmech is CKM_SHAx_RSA_PKCS or CKM_ECDSA_SHAx, or CKM_RSA_X_509 or CKM_ECDSA with the digest in hashmech. */
long xcp_signerinfo(unsigned char *asn, size_t alen, const unsigned char *ski, size_t skilen, const unsigned char *sig,
    size_t siglen, const CK_MECHANISM *sigmech, const CK_MECHANISM *hashmech);
long xcp_signerinfo_read(const unsigned char *sinfo, size_t silen, const unsigned char **ski, size_t *skilen,
    const unsigned char **sig, size_t *siglen, const unsigned char **hoid, size_t *hoidlen, const unsigned char **soid,
    size_t *soidlen, CK_MECHANISM *signmech, CK_MECHANISM *hashmech);
long xcp_rcptinfo_sharedinfo(unsigned char *sinfo, size_t slen, const unsigned char *ukm, size_t ulen,
    unsigned int kbits, int wrapalg);
long xcp_rcptinfo(unsigned char *asn, size_t alen, const struct Encrdkey *encr, const CK_MECHANISM *encrmech);
long xcp_rcptinfo_read(struct Encrdkey *rinfo, const unsigned char *asn, size_t alen);
int xcp_valid_ec_oid2imprtype(XCP_IMPRKEY_t *type, const unsigned char *oid, size_t olen);
int xcp_valid_ec_imprtype2oid(const unsigned char **oid, size_t *olen, XCP_IMPRKEY_t type);
long xcp_spki2pubkey(const unsigned char **bitstr, const unsigned char *spki, size_t slen);
size_t xcpa_asn_tag(size_t *voffs, const unsigned char *asn, size_t alen);
long xcpa_asn_bytes(const void *asn, size_t alen);
long xcpa_asn_value_offset(const void *asn, size_t alen);
long xcpa_asn_tlv(const void *asn, size_t alen, unsigned int tag, size_t *voffset, size_t *vbytes);
size_t xcpa_dh_asn2y(const unsigned char *pub, size_t plen, size_t *offs);
size_t xcpa_dh_pub2y(size_t *offs, const unsigned char *asn, size_t alen);
size_t xcpa_ec_asn2y(const unsigned char *pub, size_t plen, size_t *offs);
size_t xcpa_ec_pub2y(size_t *offs, const unsigned char *asn, size_t alen);

/* "0,3-5" as a mask of masksize bits, a multiple of 8 */
int xcp_args2mask(char *args, unsigned char *mask, int masksize);

/* Bits of masks: bit 0 is 0x80 of the first byte. */
static inline int xcpa_bitmask_has_bit(const unsigned char *mask, size_t bytes, unsigned int bit)
{
    return mask != NULL && bit / 8 < bytes && (mask[bit / 8] & 0x80 >> bit % 8) != 0;
}

static inline int xcpa_bitmask_set_bit(unsigned char *mask, size_t bytes, unsigned int bit, unsigned int set)
{
    if (mask == NULL || bit / 8 >= bytes)
        return 0;
    mask[bit / 8] = (unsigned char)((mask[bit / 8] & ~(0x80 >> bit % 8)) | (set ? 0x80 >> bit % 8 : 0));
    return 1;
}

static inline int xcpa_cpb_is_set(const unsigned char *cps, unsigned int cp)
{
    return xcpa_bitmask_has_bit(cps, XCP_CP_BYTES, cp);
}

#define CPB_IS_SET(cps, cp) xcpa_cpb_is_set((cps), (cp))
#define CPB_ADD(cps, cp) xcpa_bitmask_set_bit((cps), XCP_CP_BYTES, (cp), 1)
#define CPB_DEL(cps, cp) xcpa_bitmask_set_bit((cps), XCP_CP_BYTES, (cp), 0)

#ifdef __cplusplus
}
#endif

#endif
