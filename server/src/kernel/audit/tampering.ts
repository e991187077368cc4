/** The entry that tells of segments that were refused, or that are gone. */
export const TAMPERING_ACTION = 'audit:tampering';
