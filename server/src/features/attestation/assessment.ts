import { type Evidence, type Finding, fatal, remark, type Validation } from './format.ts';

export interface Expectations {
  nonce: Uint8Array | null;
  userData: Uint8Array | null;
  measurements: Readonly<Record<string, string>>;
  claims: Readonly<Record<string, string | number | boolean | null>>;
}

export interface Assessment extends Omit<Validation, 'findings'> {
  isVerified: boolean;
  /** Fatal findings come first. */
  findings: readonly Finding[];
}

/** Compares what a document says with what the caller expects. `more` holds findings made elsewhere. */
export async function assess(
  evidence: Evidence,
  expected: Expectations,
  now: number,
  more: readonly Finding[] = [],
): Promise<Assessment> {
  const { findings: own, ...validation } = await evidence.validate(now);
  const findings = [...own, ...more, ...mismatches(evidence, expected), ...omissions(expected)];
  const against = findings.filter(({ isFatal }) => isFatal);
  return {
    ...validation,
    isVerified: validation.isSignatureValid && against.length === 0,
    findings: [...against, ...findings.filter(({ isFatal }) => !isFatal)],
  };
}

function mismatches(evidence: Evidence, { nonce, userData, measurements, claims }: Expectations): Finding[] {
  const findings: Finding[] = [];
  if (nonce !== null && !evidence.carriesNonce(nonce)) {
    findings.push(fatal('nonce_mismatch', 'The document does not contain the nonce you sent.'));
  }
  if (userData !== null && !evidence.carriesUserData(userData)) {
    findings.push(fatal('user_data_mismatch', 'The document does not contain the user data you expect.'));
  }
  for (const [name, digest] of Object.entries(measurements)) {
    if (own(evidence.measurements, name) === digest) continue;
    findings.push(fatal('measurement_mismatch', `${name} is not the measurement you expect.`));
  }
  for (const [name, claim] of Object.entries(claims)) {
    if (own(evidence.claims, name) === claim) continue;
    findings.push(fatal('claim_mismatch', `${name} is not the value you expect.`));
  }
  return findings;
}

/** Expectations that the caller left out were not checked, so the response mentions them. */
function omissions({ nonce, measurements }: Expectations): Finding[] {
  const findings: Finding[] = [];
  if (nonce === null) {
    findings.push(remark('no_nonce', 'No nonce was sent, so the document may have been created for somebody else.'));
  }
  if (Object.keys(measurements).length === 0) {
    findings.push(
      remark(
        'no_expected_measurements',
        'No expected measurements were sent, so the code that runs there was not checked.',
      ),
    );
  }
  return findings;
}

function own<T>(table: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined;
}
