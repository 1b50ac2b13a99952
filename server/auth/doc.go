// Package auth authenticates the callers of an API and says what they may do.
//
// # Open listeners
//
// Without a token file a listener is open, and then it trusts nobody but the
// machine it runs on. A web page must not be able to break leases on a
// developer's laptop, so an open listener
//
//   - answers only to the Host names localhost, 127.0.0.1 and [::1], which
//     defeats DNS rebinding;
//   - accepts application/json only, with everything that is not a read, with a
//     body or without: a form of another site cannot send that;
//   - refuses every Origin but the one that was addressed, "null" included, and
//     what a browser marks as coming from another site, unless somebody has
//     clicked on a link there: frames and scripts get nothing.
//
// # Tokens
//
// With a token file every request shows a bearer token in the Authorization
// header, never in the URL, where logs and histories would keep it. Only
// /healthz, /health/live and /health/ready answer to anybody: probes have no
// token. Callers have a rate each, and so have the addresses of those who
// show no valid token.
//
// The file has one JSON object a line. Empty lines and lines that begin with #
// are left alone:
//
//	# the deployers
//	{"name":"ci","roles":["holder"],"holders":["ci:*"],"resources":["deploy:*"],"created":"2025-11-15T04:36:00Z","hash":"sha256:9f86…"}
//	{"name":"dashboard","roles":["reader"],"expires":"2026-01-01T00:00:00Z","hash":"sha256:60303…"}
//	{"name":"worker-7","cert":"worker-7.example","roles":["holder"]}
//
// name and roles must be there, and either hash or cert. holders and resources
// narrow the role holder, and no other: exact names, or prefixes that end
// in "*". The hash is the SHA-256 of the secret as it is typed, "lh_" included:
// printf %s lh_… | sha256sum gives the same digits.
//
// A secret is 32 random bytes. There is nothing to guess, so a slow password
// hash such as bcrypt would slow down every request and hinder nobody. Tokens
// are found by their hash in a map: how long that takes depends on the hash of
// what was shown, which cannot be steered towards the hash of an unknown secret.
//
// The file must belong to its owner alone (mode 0600). It is checked every second,
// so a new token works, and a revoked one no longer works, within two;
// requests of a token that was revoked, changed or has expired are cancelled,
// event streams and waits among them. While the file is broken or missing, the
// tokens that were read last stay good, and the log says what is wrong: to
// revoke all, empty the file.
//
// # Certificates
//
// With mutual TLS a verified client certificate can stand for a token: the
// entry whose cert is one of the certificate's names, exactly as written (DNS
// names, URIs, e-mail addresses and the common name). A certificate that fits
// two entries is refused, and a bearer token that is shown counts alone. The
// client CA must therefore be one that does not let its customers choose their
// names.
//
// # Files
//
// guard.go is the middleware, with identify.go (tokens and certificates), local.go
// (the rules of an open listener), rate.go and refusal.go; caller.go is what it
// hands on. token.go, tokenfile.go and tokenfile_edit.go are the file and its
// edits, table.go the tokens in use, reload.go how they follow the file. tls.go is
// a listener's configuration, bind.go where it may listen.
package auth
