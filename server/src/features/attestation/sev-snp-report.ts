import { bit, Fields, flagsOf, word } from './fields.ts';
import {
  type AttestationFormat,
  type Finding,
  fatal,
  isPadded,
  MalformedDocument,
  remark,
  unchecked,
} from './format.ts';

/** AMD SEV-SNP firmware ABI (56860), ATTESTATION_REPORT: all integers little-endian. */
const REPORT_BYTES = 0x4a0;
const VERSION_MIN = 2;
const VERSION_MAX = 5;
/** From this version on the report contains the family, model and stepping of the processor. */
const VERSION_WITH_CPUID = 3;
const VERSION_WITH_MITIGATIONS = 5;
const TURIN_FAMILY = 0x1a;
const ECDSA_P384_SHA384 = 1;
const POLICY_BITS = {
  smt: 16,
  migrate_ma: 18,
  debug: 19,
  single_socket: 20,
  cxl_allow: 21,
  mem_aes_256_xts: 22,
  rapl_dis: 23,
  ciphertext_hiding: 24,
  page_swap_disable: 25,
};
/** This bit must be one in every policy. */
const POLICY_RESERVED_BIT = 17;
const PLATFORM_BITS = {
  smt_en: 0,
  tsme_en: 1,
  ecc_en: 2,
  rapl_dis: 3,
  ciphertext_hiding_en: 4,
  alias_check_complete: 5,
  tio_en: 7,
};
const SIGNING_KEYS: Readonly<Record<number, string>> = { 0: 'vcek', 1: 'vlek', 7: 'none' };

/** AMD SEV-SNP attestation reports. They are parsed completely, but the signature is not checked. */
export const sevSnpReportFormat: AttestationFormat = {
  read(bytes) {
    if (bytes.length !== REPORT_BYTES)
      throw new MalformedDocument(`is not a SEV-SNP report, which has ${REPORT_BYTES} bytes`);
    const fields = new Fields(bytes);
    const { reportData, measurement, ...rest } = readReport(fields);
    const areReservedBitsValid = fields.areReservedZero && bit(BigInt(rest.policy.value), POLICY_RESERVED_BIT);
    fields.end('a SEV-SNP report');
    return {
      measurements: { measurement },
      claims: { ...rest, report_data: reportData.toString('hex') },
      carriesNonce: (nonce) => isPadded(reportData, nonce),
      carriesUserData: (data) => isPadded(reportData, data),
      validate: unchecked(findingsOf(rest.policy.debug, areReservedBitsValid)),
    };
  },
};

function readReport(fields: Fields) {
  const version = fields.u32('the version');
  if (version < VERSION_MIN || version > VERSION_MAX) {
    throw new MalformedDocument(`is not a SEV-SNP report of version ${VERSION_MIN} to ${VERSION_MAX}`);
  }
  const guest_svn = fields.u32('guest_svn');
  const policy = policyOf(fields.u64('the policy'));
  const family_id = fields.hex('family_id', 16);
  const image_id = fields.hex('image_id', 16);
  const vmpl = fields.u32('vmpl');
  const signatureAlgorithm = fields.u32('the signature algorithm');
  const currentTcb = fields.u64('current_tcb');
  const platform = fields.u64('platform_info');
  const keys = keysOf(BigInt(fields.u32('the key flags')));
  fields.reserved(4);
  const reportData = fields.bytes('report_data', 64);
  const measurement = fields.hex('measurement', 48);
  const host_data = fields.hex('host_data', 32);
  const id_key_digest = fields.hex('id_key_digest', 48);
  const author_key_digest = fields.hex('author_key_digest', 48);
  const report_id = fields.hex('report_id', 32);
  const report_id_ma = fields.hex('report_id_ma', 32);
  const reportedTcb = fields.u64('reported_tcb');
  const cpuid = readCpuid(fields, version);
  fields.reserved(21);
  const chip_id = fields.hex('chip_id', 64);
  const committedTcb = fields.u64('committed_tcb');
  const current_firmware = readFirmware(fields);
  const committed_firmware = readFirmware(fields);
  const launchTcb = fields.u64('launch_tcb');
  const mitigations = readMitigations(fields, version);
  fields.reserved(152);
  const signature = { r: fields.hex('r of the signature', 72), s: fields.hex('s of the signature', 72) };
  fields.reserved(368);
  const tcb = (value: bigint) => tcbOf(value, cpuid?.family === TURIN_FAMILY);
  return {
    report_version: version,
    guest_svn,
    policy,
    family_id,
    image_id,
    vmpl,
    signature_algorithm: signatureAlgorithm === ECDSA_P384_SHA384 ? 'ecdsa-p384-sha384' : String(signatureAlgorithm),
    current_tcb: tcb(currentTcb),
    platform_info: { value: word(platform), ...flagsOf(platform, PLATFORM_BITS) },
    ...keys,
    reportData,
    measurement,
    host_data,
    id_key_digest,
    author_key_digest,
    report_id,
    report_id_ma,
    reported_tcb: tcb(reportedTcb),
    cpuid,
    chip_id,
    committed_tcb: tcb(committedTcb),
    current_firmware,
    committed_firmware,
    launch_tcb: tcb(launchTcb),
    ...mitigations,
    signature,
  };
}

function policyOf(policy: bigint) {
  return {
    value: word(policy),
    abi_minor: Number(policy & 0xffn),
    abi_major: Number((policy >> 8n) & 0xffn),
    ...flagsOf(policy, POLICY_BITS),
  };
}

function keysOf(flags: bigint) {
  const signing = Number((flags >> 2n) & 0b111n);
  return {
    author_key_en: bit(flags, 0),
    mask_chip_key: bit(flags, 1),
    signing_key: SIGNING_KEYS[signing] ?? String(signing),
  };
}

function readCpuid(fields: Fields, version: number) {
  if (version < VERSION_WITH_CPUID) {
    fields.reserved(3);
    return null;
  }
  return {
    family: fields.u8('the family of the processor'),
    model: fields.u8('its model'),
    stepping: fields.u8('its stepping'),
  };
}

function readFirmware(fields: Fields) {
  const [build, minor, major] = [fields.u8('a build'), fields.u8('a minor version'), fields.u8('a major version')];
  fields.reserved(1);
  return { major, minor, build };
}

function readMitigations(fields: Fields, version: number) {
  if (version < VERSION_WITH_MITIGATIONS) {
    fields.reserved(16);
    return { launch_mitigation_vector: null, current_mitigation_vector: null };
  }
  return {
    launch_mitigation_vector: word(fields.u64('launch_mit_vector')),
    current_mitigation_vector: word(fields.u64('current_mit_vector')),
  };
}

/** TCB_VERSION: one byte for each component. In the Turin family the components are at other offsets. */
function tcbOf(value: bigint, isTurin: boolean) {
  const byte = (at: number) => Number((value >> BigInt(8 * at)) & 0xffn);
  const microcode = byte(7);
  if (isTurin) {
    return { value: word(value), fmc: byte(0), boot_loader: byte(1), tee: byte(2), snp: byte(3), microcode };
  }
  return { value: word(value), boot_loader: byte(0), tee: byte(1), snp: byte(6), microcode };
}

function findingsOf(isDebug: boolean, areReservedBitsValid: boolean): Finding[] {
  const findings: Finding[] = [];
  if (isDebug)
    findings.push(fatal('debug_mode', 'The guest’s policy allows debugging, so its host can read its memory.'));
  if (!areReservedBitsValid)
    findings.push(remark('reserved_not_zero', 'Reserved bits do not have their required values.'));
  return findings;
}
