import type { CredentialScheme } from './auth/authentication.ts';
import type { BoundEndpoint } from './endpoint.ts';
import type { Job } from './jobs/job-runner.ts';

/** What a capability brings to the service. app.ts lists them; nothing else knows them all. */
export interface Feature {
  name: string;
  endpoints: readonly BoundEndpoint[];
  jobs?: readonly Job[];
  credentialSchemes?: readonly CredentialScheme[];
}
