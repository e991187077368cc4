import { COMMIT } from '../kernel/base/commit.ts';
import { SCHEMA_VERSION } from '../kernel/storage/schema-version.ts';

/** Which commit and schema this release is, for `coffer --version`, which loads nothing else of the service. */
export const RELEASE = `commit ${COMMIT}, schema ${SCHEMA_VERSION}`;
