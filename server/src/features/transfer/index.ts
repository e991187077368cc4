export { ENV_FILE_TYPE, permittedNames } from './contract.ts';
export { type EnvFileFormat, envFileLine, envFileRefusal, nameRefusal, unpermitted } from './env-file.ts';
