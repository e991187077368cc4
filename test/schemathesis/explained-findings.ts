/** A finding of schemathesis that is no fault, with the reason. What is not listed fails the run. */
export interface ExplainedFinding {
  /** As `st explain` knows it. */
  code: string;
  /** Matched against what schemathesis expected, and the message of the answer: the rule that it came upon. */
  says: RegExp;
  reason: string;
}

const INVALID_AND_ACCEPTED = 'ST201';
const VALID_AND_REJECTED = 'ST202';
const CREATED_AND_NOT_FOUND = 'ST302';

export const EXPLAINED_FINDINGS: readonly ExplainedFinding[] = [
  {
    code: INVALID_AND_ACCEPTED,
    says: /^Invalid component: parameter `tags` in query - violates `anyOf` at \/properties\/tags$/m,
    reason: 'A query is text: a number in the place of a list of texts arrives as a list of one text.',
  },
  {
    code: VALID_AND_REJECTED,
    says: /exactly one of|send one of the two|: give one\.|must have policy or document, not both|must have policy, document or principal|must contain value, metadata or rotation|or digest is required, but not both|is required unless public_key is given|the credential of exactly one type of method|cannot be combined with backend|cannot be combined with deleted=true|cannot be combined with invite/,
    reason:
      'Which fields go together is a rule of the service: `oneOf` could say so, and generators make no usable type of it.',
  },
  {
    code: VALID_AND_REJECTED,
    says: /id_token is required, here|current_password is required|config\/\w+ is required|or vault_ids is required|^There is no default generator for type/m,
    reason: 'Whether it is required depends on another field, on a header, or on what is stored.',
  },
  {
    code: VALID_AND_REJECTED,
    says: /Write an (?:address|action)|Use letters, digits|must be a path prefix|must be (?:\d+ bytes in )?base64|certificates in PEM|\/body\/document (?:is no|has|must)|\/(?:to_)?path must (?:have|not have|not be empty|not end)/,
    reason:
      'The form is checked by the parser that uses the text, whose reason tells more than that a pattern does not match.',
  },
  {
    code: VALID_AND_REJECTED,
    says: /does not exist, or you lack the permission environments:compose on it|is the current path of the secret|is reserved|never changes|cannot be changed|needs a KMS|is not a cursor of this list/,
    reason: 'It depends on what is stored, or on how the service is set up, which no schema knows.',
  },
  {
    code: VALID_AND_REJECTED,
    says: /^The ciphertext could not be opened\.$/m,
    reason: 'A made-up envelope has the form of one and was sealed by nobody.',
  },
  {
    code: CREATED_AND_NOT_FOUND,
    says: /`POST \/v1\/vaults`[\s\S]*^There is no such vault\.$/m,
    reason: 'In a path a vault is called by its name; schemathesis infers that it is called by its id.',
  },
];
