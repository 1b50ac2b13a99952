// Expects refusals.

import assert from 'node:assert/strict';

/**
 * Expects a call to be refused with this status and Azure's code for it. A code
 * of null says that there is none, as with 304.
 */
export async function refused(call, status, code, message = '') {
  let answer;
  try {
    answer = await call;
  } catch (error) {
    const got = `${error.statusCode} ${codeOf(error) ?? null}`;
    assert.equal(got, `${status} ${code}`, message);
    return error;
  }
  return assert.fail(`${message} was allowed (${answer?._response?.status}); want ${status} ${code}`.trim());
}

/** HEAD has no body: there the code is in a header. */
export function codeOf(error) {
  return error.code ?? error.details?.errorCode ?? error.response?.headers.get('x-ms-error-code');
}
