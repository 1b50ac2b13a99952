// Package stores tests stores together with the project's own servers, which the
// stores themselves must not import.
package stores
