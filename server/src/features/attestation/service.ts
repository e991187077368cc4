import { timestamp } from '../../kernel/base/clock.ts';
import { invalidField } from '../../kernel/base/errors.ts';
import type { Body } from '../../kernel/endpoint/declaration.ts';
import type { Context } from '../../kernel/request/context.ts';
import { type Assessment, assess, type Expectations } from './assessment.ts';
import {
  CARRIED_BYTES_MAX,
  DOCUMENT_BYTES_MAX,
  FORMAT_NAMES,
  type FormatName,
  type verifyAttestation,
} from './contract.ts';
import { type AttestationFormat, type Evidence, MalformedDocument } from './format.ts';
import { nitroFormat } from './nitro.ts';
import { isServiceNonce, issueNonce, useNonce } from './nonces.ts';
import { sevSnpReportFormat } from './sev-snp-report.ts';
import { sgxQuoteFormat } from './sgx-quote.ts';

const FORMATS: Readonly<Record<FormatName, AttestationFormat>> = {
  'aws-nitro-cose-sign1': nitroFormat(),
  'sgx-dcap-quote-v3': sgxQuoteFormat,
  'amd-sev-snp-report': sevSnpReportFormat,
};

export function createNonce(ctx: Context) {
  return ctx.change(async (tx) => {
    const { nonce, expiresAt } = await issueNonce(tx, ctx.tenantId, ctx.now);
    return { nonce: nonce.toString('base64'), expires_at: timestamp(expiresAt) };
  });
}

export async function verify(ctx: Context, body: Body<typeof verifyAttestation>) {
  const { format = FORMAT_NAMES[0] } = body;
  const document = bytesOf('/body/document', body.document, DOCUMENT_BYTES_MAX);
  const expected = expectationsOf(body);
  ctx.record.describe({ format });
  const evidence = readDocument(FORMATS[format], document);
  const { nonce } = expected;
  if (!isServiceNonce(nonce)) return recordedResponse(ctx, format, evidence, await assess(evidence, expected, ctx.now));
  // The signature is checked before the transaction begins, so that nothing else waits for it.
  const { validate } = evidence;
  const validation = await validate(ctx.now);
  const validated = { ...evidence, validate: async () => validation };
  return ctx.change(async (tx) => {
    const findings = await useNonce(tx, ctx.tenantId, nonce, ctx.now);
    return recordedResponse(ctx, format, evidence, await assess(validated, expected, ctx.now, findings));
  });
}

/** The audit log gets the outcome and our own codes, never anything that the document holds or the caller sent. */
function recordedResponse(ctx: Context, format: FormatName, evidence: Evidence, assessment: Assessment) {
  const { isSignatureValid: signature_validated, isVerified: verified, findings } = assessment;
  const { isExpired: expired, wasSignatureValid: signature_valid_at_document_time } = assessment;
  ctx.record.describe({
    verified,
    signature_validated,
    expired,
    warnings: [...new Set(findings.map(({ code }) => code))],
  });
  const { measurements, claims } = evidence;
  const warnings = findings.map(({ code, message }) => `${code}: ${message}`);
  return {
    format,
    signature_validated,
    verified,
    expired,
    signature_valid_at_document_time,
    measurements,
    claims,
    warnings,
  };
}

function readDocument(format: AttestationFormat, document: Uint8Array): Evidence {
  try {
    return format.read(document);
  } catch (error) {
    if (error instanceof MalformedDocument) throw invalidField('/body/document', error.message);
    throw error;
  }
}

function expectationsOf({ nonce, expected = {} }: Body<typeof verifyAttestation>): Expectations {
  const { measurements = {}, user_data, claims = {} } = expected;
  return {
    nonce: nonce === undefined ? null : bytesOf('/body/nonce', nonce, CARRIED_BYTES_MAX),
    userData: user_data === undefined ? null : bytesOf('/body/expected/user_data', user_data, CARRIED_BYTES_MAX),
    measurements,
    claims,
  };
}

/** Accepts only one base64 spelling for the same bytes. */
function bytesOf(pointer: string, text: string, bytesMax: number): Buffer {
  const bytes = Buffer.from(text, 'base64');
  if (bytes.toString('base64') !== text) throw invalidField(pointer, 'must be base64 with padding');
  if (bytes.length > bytesMax) throw invalidField(pointer, `must be at most ${bytesMax} bytes`);
  return bytes;
}
