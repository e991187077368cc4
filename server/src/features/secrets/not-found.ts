import { CofferError } from '../../kernel/base/errors.ts';

export function secretNotFound(): CofferError {
  return new CofferError('SECRET_NOT_FOUND', 'There is no such secret in this vault.');
}

export function versionNotFound(): CofferError {
  return new CofferError('VERSION_NOT_FOUND', 'The secret has no such version, or it is past its retention.');
}
