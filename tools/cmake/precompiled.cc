// The source of the target that precompiles the headers of all tests (FoedusTests.cmake).
int main() { return 0; }
