/** The action of the entry that reports refused or deleted segments. */
export const TAMPERING_ACTION = 'audit:tampering';
