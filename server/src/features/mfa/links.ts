import { type Linked, port } from '../../kernel/feature/links.ts';
import type { Context } from '../../kernel/request/context.ts';
import type { Kernel } from '../../kernel/request/kernel.ts';
import { hasSignOnIdentity, signOnLinks } from '../users/index.ts';
import type { Continue } from './first-factor.ts';

/** Lets the session of the caller continue under a new id, in which a second factor was shown. Call it before the transaction. */
export const continueSession = port<(ctx: Context) => Promise<Continue>>('continueSession');

/** What it needs of other features. */
export const mfaNeeds = { continueSession, hasSignOnIdentity, signOnLinks };
export type MfaParts = Linked<typeof mfaNeeds>;

/** The services of the kernel that it uses. */
export type MfaKernel = Pick<Kernel, 'addresses' | 'clock' | 'config' | 'keyring'>;
