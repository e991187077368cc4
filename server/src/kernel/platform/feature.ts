import type { CredentialScheme } from '../auth/authentication.ts';
import type { Job } from '../jobs/job-runner.ts';
import type { Kernel } from './kernel.ts';
import type { SharedParts, Wiring } from './wiring.ts';

/** What a capability adds to the service. features.ts lists all features; nothing else knows them all. */
export interface Feature extends SharedParts {
  jobs?: readonly Job[];
  /** Loads what the feature needs before the service listens; throws a StartError that says what to do. */
  open?(): Promise<void>;
  /** Starts the feature's background work, once the service listens. */
  started?(): void;
  /** Resolves once the feature's background work has ended. It is awaited before the database is closed. */
  settled?(): Promise<void>;
  credentialSchemes?: readonly CredentialScheme[];
}

/** Builds a feature. It may store what it is given, but not use it yet: no other feature may exist, and the kernel may not be open. */
export type FeatureFactory = (kernel: Kernel, wiring: Wiring) => Feature;
