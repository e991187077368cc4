import { Fields, flagsOf, word } from './fields.ts';
import {
  type AttestationFormat,
  type Finding,
  fatal,
  isPadded,
  MalformedDocument,
  remark,
  unchecked,
} from './format.ts';

/** Intel SGX ECDSA quote library reference for DCAP, appendix A: all integers little-endian. */
const VERSION = 3;
const ECDSA_P256 = 2;
const P256_BYTES = 64;
const FLAGS = { init: 0, debug: 1, mode64bit: 2, provision_key: 4, einittoken_key: 5, cet: 6, kss: 7 };
const CERTIFICATION_TYPES: Readonly<Record<number, string>> = {
  1: 'ppid_plain',
  2: 'ppid_rsa_2048_oaep',
  3: 'ppid_rsa_3072_oaep',
  4: 'pck_certificate',
  5: 'pck_certificate_chain',
  6: 'qe_report_certification',
  7: 'platform_manifest',
};
const PCK_CHAIN = 5;
const PEM_BEGIN = '-----BEGIN CERTIFICATE-----';

/**
 * Intel SGX DCAP quotes of version 3, signed by an ECDSA P-256 key of the quoting enclave. They are parsed completely, but the signatures are not
 * checked.
 */
export const sgxQuoteFormat: AttestationFormat = {
  read(bytes) {
    const fields = new Fields(bytes);
    const header = readHeader(fields);
    const { reportData, ...report } = readReport(fields);
    const signatureBytes = fields.u32('the length of the signature section');
    if (signatureBytes !== fields.left) {
      throw new MalformedDocument('has a signature section of another length than stated');
    }
    const signature = readSignature(fields);
    fields.end('an SGX quote');
    const { mrenclave, mrsigner, ...rest } = report;
    return {
      measurements: { mrenclave, mrsigner },
      claims: { ...header, ...rest, report_data: reportData.toString('hex'), signature_section: signature },
      carriesNonce: (nonce) => isPadded(reportData, nonce),
      carriesUserData: (data) => isPadded(reportData, data),
      validate: unchecked(findingsOf(report.attributes.debug, fields.areReservedZero)),
    };
  },
};

function readHeader(fields: Fields) {
  const version = fields.u16('the version');
  if (version !== VERSION) throw new MalformedDocument(`is not an SGX quote of version ${VERSION}`);
  const keyType = fields.u16('the type of the attestation key');
  if (keyType !== ECDSA_P256) throw new MalformedDocument('has an attestation key that is not ECDSA P-256');
  fields.reserved(4);
  return {
    quote_version: version,
    attestation_key_type: 'ecdsa-p256',
    qe_svn: fields.u16('the SVN of the quoting enclave'),
    pce_svn: fields.u16('the SVN of the provisioning certification enclave'),
    qe_vendor_id: fields.hex('the vendor of the quoting enclave', 16),
    quote_user_data: fields.hex('the user data of the header', 20),
  };
}

/** sgx_report_body_t, 384 bytes. */
function readReport(fields: Fields) {
  const cpu_svn = fields.hex('cpu_svn', 16);
  const misc_select = fields.u32('misc_select');
  fields.reserved(12);
  const isv_ext_prod_id = fields.hex('isv_ext_prod_id', 16);
  const flags = fields.u64('the flags');
  const xfrm = fields.u64('xfrm');
  const mrenclave = fields.hex('mrenclave', 32);
  fields.reserved(32);
  const mrsigner = fields.hex('mrsigner', 32);
  fields.reserved(32);
  const config_id = fields.hex('config_id', 64);
  const isv_prod_id = fields.u16('isv_prod_id');
  const isv_svn = fields.u16('isv_svn');
  const config_svn = fields.u16('config_svn');
  fields.reserved(42);
  const isv_family_id = fields.hex('isv_family_id', 16);
  const reportData = fields.bytes('report_data', 64);
  return {
    cpu_svn,
    misc_select,
    isv_ext_prod_id,
    attributes: { flags: word(flags), xfrm: word(xfrm), ...flagsOf(flags, FLAGS) },
    mrenclave,
    mrsigner,
    config_id,
    isv_prod_id,
    isv_svn,
    config_svn,
    isv_family_id,
    reportData,
  };
}

function readSignature(fields: Fields) {
  const signature = fields.hex('the signature', P256_BYTES);
  const attestation_key = fields.hex('the attestation key', P256_BYTES);
  const { reportData, ...qe_report } = readReport(fields);
  const qe_report_signature = fields.hex('the signature of the quoting enclave’s report', P256_BYTES);
  const qe_authentication_data = fields.hex('the authentication data', fields.u16('the length of authentication data'));
  const type = fields.u16('the type of certification data');
  const data = fields.bytes('the certification data', fields.u32('the length of certification data'));
  return {
    signature,
    attestation_key,
    qe_report: { ...qe_report, report_data: reportData.toString('hex') },
    qe_report_signature,
    qe_authentication_data,
    certification: {
      type,
      type_name: CERTIFICATION_TYPES[type] ?? 'unknown',
      bytes: data.length,
      certificates: type === PCK_CHAIN ? data.toString('latin1').split(PEM_BEGIN).length - 1 : null,
    },
  };
}

function findingsOf(isDebug: boolean, areReservedZero: boolean): Finding[] {
  const findings: Finding[] = [];
  if (isDebug) findings.push(fatal('debug_mode', 'The enclave runs in debug mode, so its host can read its memory.'));
  if (!areReservedZero) findings.push(remark('reserved_not_zero', 'Reserved bytes are not zero.'));
  return findings;
}
