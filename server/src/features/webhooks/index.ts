export { type Emitted, emit, emitAll } from './emission.ts';
export { isAtLeast, SEVERITIES, type Severity, SeveritySchema } from './schemas.ts';
