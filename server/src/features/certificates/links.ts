import { shared } from '../../kernel/feature/links.ts';
import type { Kernel } from '../../kernel/request/kernel.ts';
import type { Certificates } from './service.ts';

/** Features share it, because it caches authorities. */
export const sharedCertificates = shared<Certificates>('certificates');

/** The services of the kernel that it uses. */
export type CertificateKernel = Pick<
  Kernel,
  'addresses' | 'audit' | 'clock' | 'database' | 'epochs' | 'keyring' | 'regionGate'
>;
