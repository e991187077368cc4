const NO_LOGIN = new Set(['nologin', 'false']);

/** Whether somebody could log in with this shell. An empty one is /bin/sh (passwd(5)). */
export function isLoginShell(shell: string): boolean {
  const [path = ''] = shell.trim().split(/\s/, 1);
  return !NO_LOGIN.has(path.slice(path.lastIndexOf('/') + 1));
}
