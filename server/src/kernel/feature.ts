import type { CredentialScheme } from './auth/authentication.ts';
import type { BoundEndpoint } from './endpoint.ts';
import type { Job } from './jobs/job-runner.ts';

/** What a capability adds to the service. app.ts lists all features; nothing else knows them all. */
export interface Feature {
  name: string;
  endpoints: readonly BoundEndpoint[];
  jobs?: readonly Job[];
  /** Resolves once the feature's background work has ended. It is awaited before the database is closed. */
  settled?(): Promise<void>;
  credentialSchemes?: readonly CredentialScheme[];
}
