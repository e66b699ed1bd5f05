"""What a text mentions by its form alone: names, dates, amounts and addresses. Pure; no model and no network."""
