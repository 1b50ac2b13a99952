// The account: its properties, its rules for browsers, what kind it is.

import assert from 'node:assert/strict';
import { request } from 'node:http';
import { test } from 'node:test';
import * as azure from '../lib/client.js';

// One account has one set of properties, so these tests take turns: they are
// one test.
test('properties of the account', async (t) => {
  const before = await azure.service.getProperties();
  const corsRule = {
    allowedOrigins: 'http://app.example,http://other.example',
    allowedMethods: 'GET,PUT',
    allowedHeaders: 'x-ms-*,content-type',
    exposedHeaders: 'etag,x-ms-*',
    maxAgeInSeconds: 120,
  };

  await t.test('come back as they were set', async () => {
    await azure.service.setProperties({ cors: [corsRule], defaultServiceVersion: '2021-12-02' });
    const after = await azure.service.getProperties();
    assert.deepEqual(after.cors, [corsRule]);
    assert.equal(after.defaultServiceVersion, '2021-12-02');
    assert.deepEqual(after.hourMetrics, before.hourMetrics, 'what was not sent was changed');
  });

  await t.test('allow the origins that they name', async () => {
    const container = await azure.newContainer({ access: 'blob' });
    const blob = await azure.newBlob(container, 'a');
    const asked = await send('OPTIONS', blob.url, {
      origin: 'http://app.example', 'access-control-request-method': 'PUT', 'access-control-request-headers': 'x-ms-blob-type,content-type',
    });
    assert.equal(asked.statusCode, 200);
    assert.equal(asked.headers['access-control-allow-origin'], 'http://app.example');
    assert.match(asked.headers['access-control-allow-methods'], /PUT/);
    assert.equal(asked.headers['access-control-max-age'], '120');
    const got = await send('GET', blob.url, { origin: 'http://other.example' });
    assert.equal(got.statusCode, 200);
    assert.equal(got.headers['access-control-allow-origin'], 'http://other.example');
    assert.match(got.headers['access-control-expose-headers'], /etag/i);
  });

  await t.test('refuse other origins', async () => {
    const container = await azure.newContainer({ access: 'blob' });
    const blob = await azure.newBlob(container, 'a');
    for (const [what, headers] of [
      ['origin', { origin: 'http://evil.example', 'access-control-request-method': 'GET' }],
      ['method', { origin: 'http://app.example', 'access-control-request-method': 'DELETE' }],
      ['header', { origin: 'http://app.example', 'access-control-request-method': 'GET', 'access-control-request-headers': 'cookie' }],
    ]) {
      const { statusCode } = await send('OPTIONS', blob.url, headers);
      assert.equal(statusCode, 403, `another ${what}`);
    }
    const got = await send('GET', blob.url, { origin: 'http://evil.example' });
    assert.equal(got.headers['access-control-allow-origin'], undefined);
  });

  await t.test('are removed', async () => {
    await azure.service.setProperties({ cors: [] });
    assert.deepEqual((await azure.service.getProperties()).cors ?? [], []);
  });
});

test('the account says what it is', async () => {
  const container = await azure.newContainer();
  const blob = await azure.newBlob(container);
  for (const client of [azure.service, container, blob]) {
    const { skuName, accountKind } = await client.getAccountInfo();
    assert.equal(accountKind, 'StorageV2');
    assert.match(skuName, /^Standard_/);
  }
});

/** A request as a browser makes it. */
function send(method, url, headers) {
  return new Promise((resolve, reject) => {
    const call = request(url, { method, headers }, (answer) => {
      answer.resume();
      answer.on('end', () => resolve(answer));
    });
    call.on('error', reject).end();
  });
}
