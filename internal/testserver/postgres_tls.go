package testserver

// PostgresTLS is Postgres with TLS for those clients that want it.
func PostgresTLS(t T, c *Certificate, args ...string) *Server {
	t.Helper()
	mayRun(t, "postgres")
	if err := giveToOrdinaryUser(c.KeyFile, c.CertFile); err != nil {
		t.Fatalf("postgresql: %v", err)
	}
	return Postgres(t, append([]string{"-c", "ssl=on", "-c", "ssl_cert_file=" + c.CertFile, "-c", "ssl_key_file=" + c.KeyFile}, args...)...)
}
