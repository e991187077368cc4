import type { Linked } from '../../kernel/feature/links.ts';
import type { Kernel } from '../../kernel/request/kernel.ts';
import { anomalyPoints } from '../risk/index.ts';
import { sharedSecretReader } from '../secrets/index.ts';

/** What it needs of other features. */
export const copilotNeeds = { anomalyPoints, reader: sharedSecretReader };
export type CopilotParts = Linked<typeof copilotNeeds>;

/** The services of the kernel that it uses. */
export type CopilotKernel = Pick<Kernel, 'audit' | 'clock' | 'config' | 'http' | 'metrics'>;
