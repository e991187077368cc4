import { type KeyObject, verify } from 'node:crypto';
import { promisify } from 'node:util';
import { MINUTE_MS, timestamp } from '../../kernel/base/clock.ts';
import { signedBytes } from './cbor.ts';
import { type AttestationFormat, type Evidence, type Finding, fatal, isZero, remark } from './format.ts';
import { verifyNitroChain } from './nitro-chain.ts';
import { type CoseSign1, type NitroDocument, readCoseSign1, readNitroDocument } from './nitro-document.ts';

/** SHA-256 of the complete root certificate of AWS Nitro Enclaves, as AWS publishes it. */
const AWS_ROOT = '641a0321a3e244efe456463195d606317ed7cdcc3c1756e09893f3c68f79bb5b';
const COSE_ALG = 1;
const COSE_ES384 = -35;
const SIGNATURE_BYTES = 96;
/** The digests of the image, the kernel and the application. In debug mode they are all zero. */
const IMAGE_PCRS = [0, 1, 2];
/** How far ahead of ours an enclave's clock may be. */
const CLOCK_SKEW_MS = 5 * MINUTE_MS;
const LAST_TIME_MS = Date.UTC(9999, 0);

const verifyAside = promisify(verify) as (
  algorithm: string,
  data: Uint8Array,
  key: { key: KeyObject; dsaEncoding: 'ieee-p1363' },
  signature: Uint8Array,
) => Promise<boolean>;

/** AWS Nitro Enclaves: a COSE_Sign1 by a key that is certified by a chain up to the root of AWS. Only tests use another root. */
export function nitroFormat(rootFingerprint = AWS_ROOT): AttestationFormat {
  return {
    read(bytes) {
      const cose = readCoseSign1(bytes);
      return evidenceOf(cose, readNitroDocument(cose.payload), rootFingerprint);
    },
  };
}

function evidenceOf(cose: CoseSign1, document: NitroDocument, rootFingerprint: string): Evidence {
  const { pcrs, nonce, userData } = document;
  return {
    measurements: Object.fromEntries([...pcrs].map(([index, pcr]) => [`pcr${index}`, hex(pcr)])),
    claims: claimsOf(document),
    carriesNonce: (given) => nonce !== null && Buffer.from(nonce).equals(given),
    carriesUserData: (given) => userData !== null && Buffer.from(userData).equals(given),
    async validate(now) {
      const header = headerFindings(cose);
      const chain = verifyNitroChain(document.certificate, document.bundle, rootFingerprint, now);
      const isSigned = header.length === 0 && chain.key !== null && (await isSignedBy(chain.key, cose));
      const unsigned = fatal(
        'bad_signature',
        'The signature over the payload does not match the key of the certificate.',
      );
      const findings = [
        ...header,
        ...chain.findings,
        ...(isSigned ? [] : [unsigned]),
        ...contentFindings(document, now),
      ];
      return {
        isSignatureValid: isSigned && chain.findings.length === 0,
        isExpired: isSigned && chain.isExpired,
        wasSignatureValid: isSigned && chain.isValidAt(document.timestamp),
        findings,
      };
    },
  };
}

function claimsOf({ moduleId, digest, timestamp: at, publicKey, userData, nonce }: NitroDocument) {
  return {
    module_id: moduleId,
    digest,
    timestamp: at <= LAST_TIME_MS ? timestamp(at) : null,
    public_key: base64(publicKey),
    user_data: base64(userData),
    nonce: base64(nonce),
  };
}

/**
 * The algorithm is taken from the protected header, which the signature covers, and nothing else is allowed beside it, so that no reader can be led
 * to another key or algorithm.
 */
function headerFindings({ protectedHeader, unprotectedHeader }: CoseSign1): Finding[] {
  const findings: Finding[] = [];
  if (protectedHeader.size !== 1 || protectedHeader.get(COSE_ALG) !== COSE_ES384) {
    findings.push(fatal('bad_algorithm', 'The protected header must contain ES384 and nothing else.'));
  }
  if (unprotectedHeader.size !== 0) {
    findings.push(fatal('unprotected_header', 'The unprotected header must be empty, because it is not signed.'));
  }
  return findings;
}

/** RFC 9053, 2.1: r and s have 48 bytes each. The check runs in the thread pool, so it does not block the event loop. */
async function isSignedBy(key: KeyObject, { protectedBytes, payload, signature }: CoseSign1): Promise<boolean> {
  if (signature.length !== SIGNATURE_BYTES) return false;
  const data = signedBytes(protectedBytes, payload);
  return verifyAside('sha384', data, { key, dsaEncoding: 'ieee-p1363' }, signature);
}

function contentFindings({ pcrs, timestamp: at, unknownFields }: NitroDocument, now: number): Finding[] {
  const findings: Finding[] = [];
  const image = IMAGE_PCRS.map((index) => pcrs.get(index));
  if (image.every((pcr) => pcr === undefined || isZero(pcr))) {
    findings.push(
      fatal(
        'debug_mode',
        'PCR0 to PCR2 are all zero: the enclave runs in debug mode, so its host can read its memory.',
      ),
    );
  }
  if (at > now + CLOCK_SKEW_MS) findings.push(fatal('made_in_future', 'The document has a timestamp in the future.'));
  if (unknownFields > 0) findings.push(remark('unknown_fields', 'The document has unknown fields.'));
  return findings;
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}

function base64(bytes: Uint8Array | null): string | null {
  return bytes === null ? null : Buffer.from(bytes).toString('base64');
}
