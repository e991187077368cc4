import { sevSnpReport } from './attestation-documents.ts';
import type { MakeInput } from './endpoint-inputs.ts';

/** Valid input for attestation: a report of the right form, which needs no certificates to be read. */
export const ATTESTATION_INPUTS: Record<string, MakeInput> = {
  'POST /attestation/verify': async () => ({
    body: { format: 'amd-sev-snp-report', document: sevSnpReport().toString('base64') },
  }),
};
