// Everybody who opens the page can read this file: a publishable key only, never a secret one (svc_..._sk_...).
window.momo = {
  url: "http://127.0.0.1:8420",
  key: "svc_test_pk_...",
};
