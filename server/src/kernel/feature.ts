import type { CredentialScheme } from './auth/authentication.ts';
import type { BoundEndpoint } from './endpoint.ts';
import type { Job } from './jobs/job-runner.ts';

/** What a capability brings to the service. app.ts lists them; nothing else knows them all. */
export interface Feature {
  name: string;
  endpoints: readonly BoundEndpoint[];
  jobs?: readonly Job[];
  /** Resolves when what goes on beside requests has ended; asked before the store is closed. */
  settled?(): Promise<void>;
  credentialSchemes?: readonly CredentialScheme[];
}
